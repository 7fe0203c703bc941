import type { KubeObject } from '../../../api/meta.ts';
import { objectSchema, type JsonSchema } from '../../../api/schema/crd.ts';
import { kinds, type ClusterTrafficPolicy, type TrafficMonitor } from '../../../api/v1alpha1/index.ts';
import {
  lastPolicySpec,
  monitorFinding,
  orphanedMonitors,
  policyFinding,
  type CompileInput,
} from '../../../capture/index.ts';
import { orphanAnnotation } from '../../../controllers/admission/validators.ts';
import { refOf, type Fault, type SourceObject } from './documents.ts';
import { schemaFaults, type SchemaFault } from '../../../api/schema/schema-faults.ts';

const schemas = new Map(kinds.map((kind) => [kind.resource.kind, objectSchema(kind)]));
const members = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];
const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** The reasons why the cluster would refuse an object: names, schema, and the controller's checks. Pure. */
export function objectFaults(
  source: SourceObject,
  { policies, environment }: Pick<CompileInput, 'policies' | 'environment'>,
): Fault[] {
  const { file, document, object } = source;
  const stored = policies.find(({ metadata }) => metadata.name === object.metadata.name);
  const at = { file, document, object: refOf(object) };
  const faults = [...nameFaults(object), ...memberFaults(object)];
  if (faults.length > 0) return faults.map((fault) => ({ ...at, ...fault }));
  const finding =
    object.kind === 'TrafficMonitor'
      ? monitorFinding((object as unknown as TrafficMonitor).spec)
      : policyFinding((object as unknown as ClusterTrafficPolicy).spec, environment, lastPolicySpec(stored?.status));
  // The finding's sentence begins with its field.
  return finding ? [{ ...at, field: '', reason: finding.message }] : [];
}

function nameFaults({ metadata }: KubeObject): SchemaFault[] {
  const { name = '', namespace } = metadata;
  return [
    ...(subdomain.test(name)
      ? []
      : [{ field: 'metadata.name', reason: `${JSON.stringify(name)} is not a valid object name` }]),
    ...(namespace === undefined || label.test(namespace)
      ? []
      : [{ field: 'metadata.namespace', reason: `${JSON.stringify(namespace)} is not a valid namespace name` }]),
  ];
}

function memberFaults(object: KubeObject): SchemaFault[] {
  const schema = schemas.get(object.kind)!;
  const { spec } = schema['properties'] as { spec: JsonSchema };
  const unknown = Object.keys(object).filter((name) => !members.includes(name));
  if (object['spec'] === undefined || object['spec'] === null) return [{ field: 'spec', reason: 'is required' }];
  return [
    ...unknown.map((name) => ({ field: name, reason: 'is unknown' })),
    ...schemaFaults(spec, object['spec'], 'spec'),
  ];
}

/** The verdict on a policy that leaves monitors without anything to capture. */
export interface OrphanVerdict {
  readonly message: string;
  /** Whether an annotation of the policy says that this is intended. */
  readonly meant: boolean;
}

/**
 * Admission's verdict on a policy that would silence monitors; null when it silences none. `input` is the cluster after
 * the change, except that this policy still has its present spec. Pure.
 */
export function orphanVerdict(input: CompileInput, policy: ClusterTrafficPolicy): OrphanVerdict | null {
  const orphans = orphanedMonitors(input, policy);
  if (orphans.length === 0) return null;
  const listed = orphans.map(({ monitor, reason }) => `${monitor} (${reason})`).join(', ');
  const meant = policy.metadata.annotations?.[orphanAnnotation] === 'true';
  const message = `ClusterTrafficPolicy ${policy.metadata.name} would leave ${orphans.length} TrafficMonitor(s) without anything to capture: ${listed}`;
  return {
    meant,
    message: meant ? message : `${message}; admission refuses it unless it is annotated with ${orphanAnnotation}=true`,
  };
}
