import { ownValue } from '../../base/collections/own-value.ts';

/** The parts of a Node and of a pod template that decide whether a DaemonSet has a pod on the node. */
export interface NodeForScheduling {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly Taint[] };
}

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface Term {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

export interface PodForScheduling {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] };
    };
  };
}

/**
 * Taints that every DaemonSet pod tolerates, some only with one effect or only on the host network. Here they are
 * always tolerated: a node that takes no new pod because it is not ready counts as missing and is not left out.
 * Source: Kubernetes documentation, "DaemonSet", tolerations added by the controller.
 */
const daemonTolerated = new Set(
  [
    'not-ready',
    'unreachable',
    'disk-pressure',
    'memory-pressure',
    'pid-pressure',
    'unschedulable',
    'network-unavailable',
  ].map((name) => `node.kubernetes.io/${name}`),
);

/** Whether a DaemonSet with this pod template should have a pod on the node, ready or not. Pure. */
export function shouldRunOn(pod: PodForScheduling, node: NodeForScheduling): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.nodeSelector ?? {})) if (ownValue(labels, key) !== value) return false;
  const required = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required && !(required.nodeSelectorTerms ?? []).some((term) => termMatches(term, node))) return false;
  return (node.spec?.taints ?? []).every(
    (taint) =>
      (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute') ||
      daemonTolerated.has(taint.key) ||
      (pod.tolerations ?? []).some((t) => tolerates(t, taint)),
  );
}

/** An empty term matches nothing, as in Kubernetes. */
function termMatches(term: Term, node: NodeForScheduling): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    expressions.every((r) => requirementMatches(r, ownValue(labels, r.key))) &&
    fields.every((r) => requirementMatches(r, r.key === 'metadata.name' ? node.metadata.name : undefined))
  );
}

function requirementMatches({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return Number(value) > Number(values[0]);
    case 'Lt':
      return Number(value) < Number(values[0]);
    default:
      return false;
  }
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  return toleration.key !== undefined && (toleration.value ?? '') === (taint.value ?? '');
}
