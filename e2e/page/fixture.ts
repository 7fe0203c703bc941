/** Made-up answers of the page's own API, for tests of the views. Equal sizes give equal answers. */
import type {
  NodeReport,
  ObjectItem,
  Objects,
  ServiceSummary,
  Stats,
  Topology,
  TopologyEdge,
  TopologyNode,
  WorkloadExplanation,
} from '../../src/api/page/types.ts';

export interface FixtureSize {
  readonly workloads: number;
  readonly edges: number;
  readonly nodes: number;
}

export const small: FixtureSize = { workloads: 20, edges: 28, nodes: 3 };
export const large: FixtureSize = { workloads: 500, edges: 2_000, nodes: 50 };

/** Numbers in [0, 1) that are the same in each run. */
function numbers(): () => number {
  let state = 20_261_122;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

const names = ['gateway', 'catalog', 'checkout', 'cart', 'payments', 'orders', 'search', 'mail', 'stock', 'users'];
const spaces = ['shop', 'pay', 'platform', 'data', 'media', 'identity', 'billing', 'search', 'ops', 'edge'];

interface Workload {
  readonly namespace: string;
  readonly name: string;
}

export function workloadsOf({ workloads }: FixtureSize): Workload[] {
  const perSpace = Math.ceil(workloads / (workloads > 50 ? 20 : 3));
  return Array.from({ length: workloads }, (_, i) => {
    const space = Math.floor(i / perSpace);
    const round = Math.floor((i % perSpace) / names.length);
    const base = names[(i % perSpace) % names.length]!;
    return {
      namespace: spaces[space % spaces.length]! + (space >= spaces.length ? '-2' : ''),
      name: round === 0 ? base : `${base}-${round + 1}`,
    };
  });
}

function stats(random: () => number, failing = false): Stats {
  const rate = 0.2 + random() ** 3 * 400;
  const p50 = 1 + random() * 40;
  return {
    requestRate: rate,
    errorShare: failing ? 0.05 + random() * 0.3 : random() < 0.3 ? random() * 0.02 : 0,
    p50Ms: p50,
    p95Ms: p50 * 3,
    p99Ms: p50 * 6,
    bytesPerSecond: rate * 900,
    bytesBackPerSecond: rate * 4_200,
  };
}

export function fixtureServices(size: FixtureSize): ServiceSummary[] {
  const random = numbers();
  return workloadsOf(size).map(({ namespace, name }, i) => {
    const captured = i % 17 !== 9;
    const own = stats(random, i === 2 || i % 61 === 5);
    const { requestRate, errorShare, p50Ms, p99Ms } = own;
    const wave = Array.from(
      { length: 60 },
      (_, k) => requestRate! * (0.8 + 0.2 * Math.sin(k / 6 + i) + 0.1 * random()),
    );
    return {
      namespace,
      workload: name,
      workloadKind: i % 7 === 4 ? 'StatefulSet' : 'Deployment',
      nodes: [`node-${(i % size.nodes) + 1}`],
      requestRate: captured ? requestRate : null,
      errorShare: captured ? errorShare : null,
      p50Ms: captured ? p50Ms : null,
      p99Ms: captured ? p99Ms : null,
      sparkline: {
        stepSeconds: 60,
        requestRate: captured ? wave : wave.map(() => null),
        errorShare: wave.map((_, k) => (captured ? (errorShare! * (k % 9)) / 9 : null)),
      },
      monitors: i % 4 === 3 ? [] : [`${name}-monitor`],
      captured,
      why: captured ? null : 'the pod is on a node without an agent',
    };
  });
}

/** A topology. `turn` changes its numbers and nothing else, as time does. */
export function fixtureTopology(size: FixtureSize, turn = 0): Topology {
  const random = numbers();
  const workloads = workloadsOf(size);
  const id = ({ namespace, name }: Workload): string => `workload/${namespace}/Deployment/${name}`;
  const nodes: TopologyNode[] = workloads.map((workload, i) => ({
    id: id(workload),
    kind: 'workload',
    ...workload,
    workloadKind: 'Deployment',
    node: `node-${(i % size.nodes) + 1}`,
    inbound: stats(random),
    outbound: stats(random),
  }));
  const other = (kind: 'external' | 'unknown', name: string): TopologyNode => ({
    id: `${kind}/${name}`,
    kind,
    namespace: '',
    name,
    workloadKind: '',
    inbound: stats(random),
    outbound: stats(random),
  });
  nodes.push(other('external', '203.0.113.0/24'), other('unknown', ''));
  const edges = new Map<string, TopologyEdge>();
  const add = (source: string, target: string, i: number): void => {
    if (source === target || edges.has(`${source}>${target}`)) return;
    const flows = i % 9 === 8;
    const seen = stats(random, i === 4 || i % 97 === 41);
    const factor = 1 + 0.3 * Math.sin(turn + i);
    edges.set(`${source}>${target}`, {
      id: `${source}>${target}`,
      source,
      target,
      protocol: flows ? 'tcp' : i % 11 === 3 ? 'grpc' : 'http',
      sources: flows ? ['flows'] : ['requests', 'flows'],
      stats: flows
        ? { ...seen, requestRate: null, errorShare: null, p50Ms: null, p95Ms: null, p99Ms: null }
        : { ...seen, requestRate: seen.requestRate! * factor },
      promql: {
        ...(flows ? {} : { requestRate: `sum(rate(http_server_request_duration_count{edge="${i}"}[5m]))` }),
        bytes: `sum(rate(ebpf_network_flow_bytes{edge="${i}"}[5m]))`,
      },
    });
  };
  add('external/203.0.113.0/24', id(workloads[0]!), 0);
  add('unknown/', id(workloads[1]!), 8);
  for (let i = 1; edges.size < size.edges && i < size.edges * 20; i++) {
    const from = Math.floor(random() * workloads.length * 0.6);
    // Most calls stay near: services call those of their own namespace more than others.
    const near = Math.min(workloads.length - 1, from + 1 + Math.floor(random() * 12));
    const to = random() < 0.8 ? near : Math.floor(random() * workloads.length);
    add(id(workloads[from]!), id(workloads[to]!), i);
  }
  return {
    window: { startMs: 1_795_240_500_000, endMs: 1_795_240_800_000 },
    by: 'workload',
    nodes,
    edges: [...edges.values()],
  };
}

/** One pod that is captured, and one that an exclusion keeps out. */
export const fixtureExplanation: WorkloadExplanation = {
  operator: { instrumentVersion: 'v0.10.0', instrumentPorts: '80,443,8080,8443', allowExtraConfig: false },
  pods: ['node-1', 'node-2'].map((node, i) => ({
    pod: `gateway-7d9f-x${i}`,
    node,
    steps: [
      { asks: 'policy', answer: 'yes', fact: 'default is the strongest' },
      i === 0
        ? { asks: 'not excluded', answer: 'yes', fact: 'nothing excludes it' }
        : { asks: 'not excluded', answer: 'no', fact: 'excluded by a label', way: 'leave the label out' },
      { asks: 'port', answer: 'unknown', fact: 'the pod declares no ports' },
      { asks: 'selected', answer: 'note', fact: 'no monitor does' },
    ],
  })),
  settings: [
    { path: 'protocols', value: null, from: 'built-in' },
    { path: 'sampling.ratio', value: 0.05, from: 'ClusterTrafficPolicy/default (defaults)' },
  ],
};

const condition = (type: string, status: 'True' | 'False', reason: string, message: string) => ({
  good: status === 'True',
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-11-22T09:00:00Z',
  observedGeneration: 1,
});

function nodeReport(i: number, nowMs: number): NodeReport {
  const missing = i === 1 ? 'no agent pod runs on this node: its taint is not tolerated' : null;
  const known = <T>(value: T): T | null => (missing === null ? value : null);
  return {
    missing,
    agentVersion: known('0.1.0'),
    instrumentVersion: known('v0.10.0'),
    phase: known(i === 2 ? 'Written' : 'Running'),
    configHash: known('3f1c2a9b77de'),
    instrumentRestarts: known(i % 5),
    instrumentUp: known(true),
    notCaptured:
      i === 2
        ? [{ namespace: 'shop', monitor: 'catalog', reason: 'KernelUnsupported: the kernel has no kprobes' }]
        : [],
    instrumentMemoryBytes: known(180_000_000 + i * 1_000_000),
    agentMemoryBytes: known(96_000_000),
    seriesActive: known(4_000 + i * 300),
    seriesLimit: known(20_000),
    seriesLimitHits: known(i === 0 ? 12 : 0),
    clockOffsetMs: known(i === 0 ? -1_400 : 2),
    certificateEndMs: known(nowMs + (i === 0 ? 2 : 60) * 86_400_000),
  };
}

export function fixtureObjects(kind: Objects['kind'], size: FixtureSize, nowMs: number): Objects {
  const item = (name: string, namespace: string, rest: Partial<ObjectItem>): ObjectItem => ({
    metadata: { name, namespace, generation: 1, creationTimestamp: '2026-11-20T09:00:00Z' },
    spec: {},
    conditions: [],
    status: {},
    ...rest,
  });
  const ready = condition('Ready', 'True', 'AllProgrammed', 'captured on 3 of 3 nodes');
  const items = {
    Node: () => Array.from({ length: size.nodes }, (_, i) => item(`node-${i + 1}`, '', { node: nodeReport(i, nowMs) })),
    TrafficMonitor: () => [
      item('catalog-monitor', 'shop', {
        spec: { selector: { matchLabels: { app: 'catalog' } } },
        conditions: [condition('Accepted', 'True', 'Valid', 'the spec is in force'), ready],
      }),
      item('checkout-monitor', 'shop', {
        spec: { selector: { matchLabels: { app: 'checkout' } } },
        conditions: [condition('Accepted', 'False', 'Conflict', 'shop/catalog-monitor selects the same pods'), ready],
      }),
    ],
    ClusterTrafficPolicy: () => [item('default', '', { spec: { priority: 0 }, conditions: [ready] })],
    MinterDeployment: () => [
      item('platform', 'svc-system', {
        conditions: [condition('Ready', 'False', 'KeyUnavailable', 'the key cannot sign')],
      }),
    ],
  }[kind]();
  return { kind, forbidden: kind === 'MinterDeployment', items };
}
