import type { KubeObject, LabelSelector } from '../api/meta.ts';

export interface PodEnd {
  namespace: string;
  labels: Record<string, string>;
}
export interface AddressEnd {
  /** An IPv4 address. */
  ip: string;
}
/** One end of a connection: a pod, or an address outside the cluster. */
export type End = PodEnd | AddressEnd;

interface Peer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}
interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port?: number; endPort?: number; protocol?: string }[];
}
interface PolicySpec {
  podSelector: LabelSelector;
  policyTypes?: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

export interface Connection {
  from: End;
  to: End;
  port: number;
  protocol?: 'TCP' | 'UDP';
}

/**
 * Whether NetworkPolicies let a connection through, by the rules of networking.k8s.io/v1. Pure.
 * Shape: `policies` is any list of objects; objects of other kinds are skipped. A namespace has the label
 * `kubernetes.io/metadata.name`, and further labels from `namespaceLabels`.
 * Caveats: ports by number only; neither the kubelet's own traffic nor rules that a network plugin adds are considered.
 */
export function mayConnect(
  policies: readonly KubeObject[],
  connection: Connection,
  namespaceLabels: Readonly<Record<string, Record<string, string>>> = {},
): boolean {
  const labelsOf = (namespace: string) => ({
    'kubernetes.io/metadata.name': namespace,
    ...namespaceLabels[namespace],
  });
  const side = (direction: 'Ingress' | 'Egress', own: End, other: End): boolean => {
    if (!isPod(own)) return true;
    const selecting = policies.filter((policy) => selects(policy, own, direction));
    if (selecting.length === 0) return true;
    return selecting.some((policy) => {
      const spec = policy['spec'] as PolicySpec;
      const rules = (direction === 'Ingress' ? spec.ingress : spec.egress) ?? [];
      const namespace = policy.metadata.namespace ?? '';
      return rules.some((rule) => {
        const peers = direction === 'Ingress' ? rule.from : rule.to;
        const peerFits = !peers?.length || peers.some((peer) => matchesPeer(peer, other, namespace, labelsOf));
        return peerFits && matchesPort(rule, connection);
      });
    });
  };
  return side('Egress', connection.from, connection.to) && side('Ingress', connection.to, connection.from);
}

function selects(policy: KubeObject, pod: PodEnd, direction: 'Ingress' | 'Egress'): boolean {
  if (policy.kind !== 'NetworkPolicy' || policy.metadata.namespace !== pod.namespace) return false;
  const spec = policy['spec'] as PolicySpec;
  const types = spec.policyTypes ?? ['Ingress', ...(spec.egress ? ['Egress'] : [])];
  return types.includes(direction) && matchesLabels(spec.podSelector, pod.labels);
}

function matchesPeer(
  peer: Peer,
  end: End,
  policyNamespace: string,
  labelsOf: (namespace: string) => Record<string, string>,
): boolean {
  if (peer.ipBlock) {
    const { cidr, except = [] } = peer.ipBlock;
    return !isPod(end) && inRange(end.ip, cidr) && !except.some((range) => inRange(end.ip, range));
  }
  if (!isPod(end)) return false;
  const namespaceFits = peer.namespaceSelector
    ? matchesLabels(peer.namespaceSelector, labelsOf(end.namespace))
    : end.namespace === policyNamespace;
  return namespaceFits && matchesLabels(peer.podSelector ?? {}, end.labels);
}

function matchesPort(rule: Rule, { port, protocol = 'TCP' }: Connection): boolean {
  if (!rule.ports?.length) return true;
  return rule.ports.some(
    (entry) =>
      (entry.protocol ?? 'TCP') === protocol &&
      (entry.port === undefined || (port >= entry.port && port <= (entry.endPort ?? entry.port))),
  );
}

/** Whether labels match a selector; an empty selector matches all labels. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    exact &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
      }
    })
  );
}

const isPod = (end: End): end is PodEnd => 'namespace' in end;

function inRange(ip: string, cidr: string): boolean {
  const [base = '', bits = '32'] = cidr.split('/');
  const size = 2 ** (32 - Number(bits));
  return Math.floor(numberOf(ip) / size) === Math.floor(numberOf(base) / size);
}

const numberOf = (ip: string) => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
