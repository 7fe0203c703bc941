import type { KubeObject, ObjectMeta } from '../../../api/meta.ts';
import type { Redactor } from './redact/redactor.ts';

/**
 * Variables that the operator writes itself. The values of other variables are hidden, because users set them for their
 * own purposes.
 */
const ourVariables =
  /^(?:SVC_\w+|OTEL_EBPF_\w+|NODE_(?:NAME|OPTIONS|EXTRA_CA_CERTS)|POD_\w+|MALLOC_(?:ARENA_MAX|MMAP_THRESHOLD_)|BIND_ADDRESS|PORT|ADMIN_PORT|CONFIGS_DIR|TLS_DIR|VCS_(?:ORG|API_BASE_URL)|KMS_(?:NEXT_)?KEY_VERSION|AUDIENCES|ISSUER_URL|JWKS_URI|RATE_LIMIT_PER_MINUTE|MAX_REPOSITORIES|REPOSITORIES)$/;

/** The annotation with kubectl's copy of the object as last applied. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * An object as included in a bundle: redacted, without managed fields and the annotation that repeats the object, and
 * with the values of variables that are not ours hidden. Pure but for the redactor's counts.
 */
export function trimObject(object: KubeObject, redactor: Redactor): KubeObject {
  const redacted = redactor.value({ ...object, metadata: trimMetadata(object.metadata, redactor) });
  return withoutForeignValues(redacted, redactor) as KubeObject;
}

function trimMetadata(
  { managedFields: _fields, annotations, ...metadata }: ObjectMeta,
  redactor: Redactor,
): ObjectMeta {
  if (!annotations) return metadata;
  const { [lastApplied]: applied, ...rest } = annotations;
  if (applied !== undefined) redactor.hid('annotation');
  return Object.keys(rest).length === 0 ? metadata : { ...metadata, annotations: rest };
}

/** Hides the values of variables that are not ours in every list named `env`, at any depth. */
function withoutForeignValues(value: unknown, redactor: Redactor, name = ''): unknown {
  if (Array.isArray(value)) {
    return name === 'env'
      ? value.map((variable) => withoutForeignValue(variable, redactor))
      : value.map((item) => withoutForeignValues(item, redactor));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, child]) => [member, withoutForeignValues(child, redactor, member)]),
  );
}

function withoutForeignValue(variable: unknown, redactor: Redactor): unknown {
  const { name, value } = (variable ?? {}) as { name?: unknown; value?: unknown };
  if (typeof value !== 'string' || (typeof name === 'string' && ourVariables.test(name))) return variable;
  redactor.hid('environment');
  return { ...(variable as object), value: '[not ours]' };
}

/** The relevant parts of a node: its identity, its software, its state. Pure but for the redactor's counts. */
export function trimNode(node: KubeObject, redactor: Redactor): unknown {
  const { nodeInfo, conditions, addresses, allocatable } = (node['status'] ?? {}) as Record<string, unknown>;
  const { taints, unschedulable, podCIDRs } = (node['spec'] ?? {}) as Record<string, unknown>;
  const { name, labels, creationTimestamp, deletionTimestamp } = node.metadata;
  return redactor.value({
    name,
    creationTimestamp,
    deletionTimestamp,
    labels,
    taints,
    unschedulable,
    podCIDRs,
    nodeInfo,
    addresses,
    allocatable,
    conditions,
  });
}

/**
 * The relevant parts of a CRD: its versions and conditions; the schema is that of the release. Pure but for the
 * redactor's counts.
 */
export function trimCrd(crd: KubeObject, redactor: Redactor): unknown {
  const { versions = [] } = (crd['spec'] ?? {}) as { versions?: { name: string; served: boolean; storage: boolean }[] };
  const { conditions, storedVersions } = (crd['status'] ?? {}) as Record<string, unknown>;
  return redactor.value({
    name: crd.metadata.name,
    labels: crd.metadata.labels,
    versions: versions.map(({ name, served, storage }) => ({ name, served, storage })),
    storedVersions,
    conditions,
  });
}
