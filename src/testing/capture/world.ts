import type {
  ClusterTrafficPolicy,
  ClusterTrafficPolicySpec,
  TrafficMonitor,
  TrafficMonitorSpec,
} from '../../api/v1alpha1/index.ts';
import type { CompileInput, NamedLabels, PodFacts } from '../../capture/compile/types.ts';

/** Builders of the capture compiler's input: a test states only what differs from a small cluster without policies. */

export function aMonitor(
  path: string,
  spec: Partial<TrafficMonitorSpec>,
  meta: Partial<TrafficMonitor['metadata']> & { status?: TrafficMonitor['status'] } = {},
): TrafficMonitor {
  const [namespace = '', name = ''] = path.split('/');
  const { status, ...rest } = meta;
  return {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: {
      namespace,
      name,
      uid: `uid-${name}`,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...rest,
    },
    spec: { mode: 'Capture', ...spec },
    ...(status ? { status } : {}),
  };
}

export function aPolicy(
  name: string,
  spec: ClusterTrafficPolicySpec,
  meta: Partial<ClusterTrafficPolicy['metadata']> & { status?: ClusterTrafficPolicy['status'] } = {},
): ClusterTrafficPolicy {
  const { status, ...rest } = meta;
  return {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name, uid: `uid-${name}`, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z', ...rest },
    spec,
    ...(status ? { status } : {}),
  };
}

export function aPod(path: string, nodeName: string, more: Partial<PodFacts> = {}): PodFacts {
  const [namespace = '', name = ''] = path.split('/');
  return { namespace, name, nodeName, labels: { app: name.replace(/-[0-9]+$/, '') }, containers: ['main'], ...more };
}

export function aNamespace(name: string, labels: Record<string, string> = {}): NamedLabels {
  return { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } };
}

/** Three nodes (one of pool `edge`), the namespaces shop, pay (tier=critical) and svc-system, and four pods. */
export function aWorld(more: Partial<CompileInput> = {}): CompileInput {
  return {
    environment: { instrumentVersion: 'v0.10.0', ports: '80,443,8080,8443' },
    policies: [],
    monitors: [],
    namespaces: [aNamespace('pay', { tier: 'critical' }), aNamespace('shop'), aNamespace('svc-system')],
    nodes: [
      { name: 'node-1', labels: { pool: 'core' } },
      { name: 'node-2', labels: { pool: 'core' } },
      { name: 'node-3', labels: { pool: 'edge' } },
    ],
    pods: [
      aPod('shop/checkout-1', 'node-1'),
      aPod('shop/checkout-2', 'node-2'),
      aPod('shop/cart-1', 'node-1'),
      aPod('pay/ledger-1', 'node-3'),
    ],
    ...more,
  };
}
