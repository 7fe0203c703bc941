import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import type { Objects, ServiceSummary, Topology, WorkloadExplanation } from '../../api/page/types.ts';
import type { ApiReviews } from '../../kube/reviews.ts';
import { startAgentCluster, type AgentCluster } from '../../testing/query/agent-cluster.ts';
import { aPod } from '../../testing/node-pods.ts';
import { askApi, type ApiAnswer, type ApiParams } from '../../testing/query/api-client.ts';
import { watchedObjects } from '../../testing/query/watched-objects.ts';
import { enrichFlow } from '../../agent/identity/enrich-flow.ts';
import { podIdentity } from '../../agent/identity/pod-identity.ts';
import { PodIndex } from '../../agent/identity/pod-index.ts';
import { AddressIndex } from '../addresses/address-index.ts';
import { querySettingTable, startQueryServer, type QueryServer } from '../index.ts';

const nodes = ['node-1', 'node-2'];
const end = Math.floor(Date.now() / 60_000) * 60_000;
const at = String(end / 1000);
const bounds = ['0.1', '1', '+Inf'];

/** The end of five minutes in which servers of two namespaces share a node, and flows have several transports. */
const mixedAt = end - 10_800_000;
/** The end of five minutes in which a pod of ops asks hosts of another namespace. */
const hostsAt = end - 14_400_000;
const hostsOfOthers = ['cart', 'cart.shop', 'gone.shop', 'checkout-svc.shop.svc', 'gone.shop.svc.cluster.local'];
const dashedHosts = ['10-0-0-3.x.pod', '10-0-0-3.shop.pod', '10-0-0-9.shop.pod'];

let cluster: AgentCluster;
let server: QueryServer;

const owned = (namespace: string, name: string): Record<string, string> => ({
  ...{ k8s_namespace_name: namespace, k8s_owner_name: name, k8s_kind: 'Deployment', k8s_pod_name: `${name}-x-1` },
});

/** The label of a request's outcome, and its values. */
interface Outcomes {
  readonly label: string;
  readonly ok: string;
  readonly failed: string;
}
const httpOutcomes: Outcomes = { label: 'http_response_status_code', ok: '200', failed: '503' };

/** `perSecond` requests of a pod on a node, of which one in ten fails; nine of ten take less than 100 ms. */
function requests(
  node: string,
  metric: string,
  labels: Record<string, string>,
  perSecond: number,
  { label, ok, failed } = httpOutcomes,
  lastMs = end,
): void {
  for (let k = 0; k <= 20; k++) {
    const t = lastMs - (20 - k) * 30_000;
    const count = k * 30 * perSecond;
    for (const [code, share] of [
      [ok, 0.9],
      [failed, 0.1],
    ] as const) {
      const own = { ...labels, [label]: code };
      for (const [i, le] of bounds.entries())
        cluster.append(node, { __name__: `${metric}_bucket`, ...own, le }, t, count * share * (i === 0 ? 0.9 : 1));
      cluster.append(node, { __name__: `${metric}_count`, ...own }, t, count * share);
    }
  }
}

/** A counter that grows evenly, in samples of ten minutes. */
function count(node: string, labels: Record<string, string>, perSecond: number, lastMs = end): void {
  for (let k = 0; k <= 20; k++) cluster.append(node, labels, lastMs - (20 - k) * 30_000, k * 30 * perSecond);
}

function flow(
  node: string,
  direction: string,
  src: string,
  dst: string,
  perSecond: number,
  transport: Readonly<Record<string, string>> = {},
  lastMs = end,
): void {
  const side = (end_: 'src' | 'dst', name: string): Record<string, string> =>
    name.startsWith('address ')
      ? { [`${end_}_address`]: name.slice('address '.length) }
      : {
          ...{ [`k8s_${end_}_namespace`]: 'shop', [`k8s_${end_}_owner_name`]: name },
          ...{ [`k8s_${end_}_owner_type`]: 'Deployment' },
          ...(homes[name] === node ? { [`k8s_${end_}_node_name`]: node } : {}),
        };
  const labels = { __name__: 'ebpf_network_flow_bytes', direction, ...side('src', src), ...side('dst', dst) };
  count(node, { ...labels, ...transport }, perSecond, lastMs);
}

const homes: Readonly<Record<string, string>> = { web: 'node-1', checkout: 'node-2', cart: 'node-2' };

const aMonitor = (namespace: string, name: string, spec: object, status: object = {}): unknown => ({
  metadata: { name, namespace, generation: 2 },
  spec,
  status: {
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Programmed', message: '' },
      { type: 'Conflicted', status: 'False', reason: 'NoConflict', message: '' },
    ],
    ...{ pods: 1, ...status },
  },
});
const notAttached = { name: 'node-1', reason: 'NotAttached', message: 'no process to watch' };
const monitors = [
  aMonitor('shop', 'all', {}, { failedNodes: [notAttached] }),
  aMonitor('shop', 'not-batch', { mode: 'Exclude', selector: { matchLabels: { app: 'batch' } } }),
  aMonitor('ops', 'probes', {}),
];
/** The series that the agent of node-1 stored about itself. */
const ownSeries: readonly (readonly [name: string, value: number, labels: Readonly<Record<string, string>>])[] = [
  ['agent_up', 1, { version: '1.2.3' }],
  ['agent_memory_bytes', 96e6, {}],
  ['cert_expiry_timestamp_seconds', end / 1000 + 86_400, {}],
  ['instrument_config_hash_info', 1, { hash: 'abc', phase: 'Running' }],
  ['instrument_info', 1, { version: 'v0.10.0' }],
  ['instrument_memory_bytes', 0, {}],
  ['instrument_restarts_total', 2, {}],
  ['instrument_up', 1, {}],
  ['series_active', 40, {}],
  ['series_limit', 1000, {}],
  ['series_limit_hits_total', 3, { scope: 'node' }],
  ['series_limit_hits_total', 4, { scope: 'monitor' }],
];
/** `admin` may everything, a namespace's name all in it, and `pods-of-shop` may read the pods of shop alone. */
const mayReadPods: ApiReviews['mayReadPods'] = async ({ username }, namespace) =>
  username === 'admin' || namespace === username || `pods-of-${namespace}` === username;
const clusterNodes = ['node-1', 'node-9'].map((name) => ({ metadata: { name }, status: { conditions: [] } }));

beforeAll(async () => {
  cluster = await startAgentCluster(nodes, systemClock);
  const index = new AddressIndex();
  for (const [i, [name, nodeName]] of Object.entries(homes).entries()) {
    const pod = { namespace: 'shop', name: `${name}-x-1`, uid: name, nodeName, containers: [], hostNetwork: false };
    const owner = { kind: 'ReplicaSet', name: `${name}-x` };
    const labels = { 'pod-template-hash': 'x', app: name };
    index.setPod({ ...pod, labels, owner, ips: [`10.0.0.${i + 1}`], fromMs: 0, ended: false }, end);
  }
  const service = { namespace: 'shop', ips: ['10.96.0.1'], fromMs: 0 };
  index.setService({ ...service, name: 'checkout-svc', selector: { app: 'checkout' } }, end);
  index.setService({ ...service, name: 'web', ips: [], selector: { app: 'web' } }, end);
  index.setNode({ name: 'node-1', ips: ['192.168.0.1'], podCidrs: ['10.0.0.0/16'] }, end);

  const web = owned('shop', 'web');
  for (const [name, nodeName, labels] of [
    ['batch', 'node-1', { app: 'batch' }],
    ['idle', 'node-1', {}],
    ['away', 'node-9', {}],
  ] as const) {
    const pod = { namespace: 'shop', name, uid: name, nodeName, containers: [], hostNetwork: true, labels };
    index.setPod({ ...pod, ports: [{ container: 'web', port: 8080 }], ips: [], fromMs: 0, ended: false }, end);
  }
  for (const [name, value, labels] of ownSeries)
    cluster.append('node-1', { __name__: `svc_${name}`, ...labels }, Date.now(), value);
  spreadFlows();
  for (const node of nodes) {
    flow(node, 'request', 'web', 'checkout', 1_000, { transport: 'TCP' }, mixedAt);
    flow(node, 'request', 'web', 'checkout', 50, { transport: 'UDP' }, mixedAt);
    flow(node, 'request', 'web', 'checkout', 6, { transport: 'SCTP' }, mixedAt);
  }
  requests('node-2', 'http_server_request_duration', owned('shop', 'checkout'), 12, httpOutcomes, mixedAt);
  requests('node-1', 'http_server_request_duration', owned('ops', 'front'), 3, httpOutcomes, mixedAt);
  requests('node-1', 'http_server_request_duration', web, 5, httpOutcomes, mixedAt);
  requests(
    'node-1',
    'http_client_request_duration',
    { ...web, server_address: 'checkout-svc' },
    2,
    httpOutcomes,
    mixedAt,
  );
  requests('node-1', 'http_client_request_duration', { ...web, server_address: 'checkout-svc' }, 10);
  requests('node-1', 'http_client_request_duration', { ...web, server_address: '10.0.0.2' }, 2);
  requests('node-1', 'http_client_request_duration', { ...web, server_address: 'api.example.com' }, 1);
  requests('node-2', 'http_server_request_duration', owned('shop', 'checkout'), 12);
  requests('node-1', 'http_server_request_duration', web, 20);
  // A pod without an owner, in another namespace.
  requests(
    'node-2',
    'http_client_request_duration',
    { k8s_namespace_name: 'ops', k8s_pod_name: 'probe', server_address: 'web.shop' },
    4,
  );
  for (const host of [...hostsOfOthers, ...dashedHosts, '10.0.0.1']) {
    const probe = { k8s_namespace_name: 'ops', k8s_pod_name: 'probe', server_address: host };
    requests('node-2', 'http_client_request_duration', probe, 4, httpOutcomes, hostsAt);
  }
  flow('node-1', 'request', 'web', 'checkout', 1_000);
  flow('node-2', 'request', 'web', 'checkout', 1_000);
  flow('node-2', 'response', 'checkout', 'web', 5_000);
  flow('node-1', 'response', 'checkout', 'web', 5_000);
  flow('node-2', 'request', 'checkout', 'cart', 300);
  flow('node-1', 'request', 'address 203.0.113.9', 'web', 70);

  const flags = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
  const limits = { agentReadPort: String(cluster.port), agentTimeout: '30s', queryTimeout: '60s', tenancy: 'true' };
  const ofTheOperator = { obiInstrumentPorts: '8000-8100', instrumentVersion: 'v0.9.1', allowExtraConfig: 'true' };
  server = await startQueryServer({
    settings: readSettings(querySettingTable, {
      flags: { ...flags, ...limits, ...ofTheOperator },
      ...{ env: {}, prefix: 'SVC_' },
    }),
    ...{ clock: systemClock, logger: silentLogger, tls: cluster.tls, version: '0.0.0' },
    directory: { agents: () => cluster.expected, synced: true },
    reviews: { reviewToken: async (token) => ({ username: token }), mayAccessPath: async () => true },
    tenants: {
      reviews: { mayReadPods },
      namespaces: { synced: true, names: () => ['shop', 'ops'] },
    },
    addresses: { index, synced: true },
    objects: {
      kinds: watchedObjects({ TrafficMonitor: monitors, Node: clusterNodes }),
      namespaces: { synced: true, names: () => ['shop', 'ops'] },
      labelledNamespaces: () => [{ name: 'shop', labels: {} }],
      reviews: {
        mayReadPods,
        mayAccessResource: async ({ username }, { namespace }) => username === 'admin' || namespace === username,
      },
    },
  });
});
afterAll(async () => {
  await server.close();
  await cluster.close();
});

const ask = (path: string, params: ApiParams, token = 'admin'): Promise<ApiAnswer> =>
  askApi({ port: server.port, ca: cluster.ca.cert }, path, params, { headers: { authorization: `Bearer ${token}` } });
const topology = async (params: ApiParams = {}, token?: string): Promise<Topology> => {
  const { status, json } = await ask('/api/v1/topology', { end: at, ...params }, token);
  expect([status, json.degraded, json.warnings]).toEqual([200, false, undefined]);
  return json.data as Topology;
};
const round = (value: number | null): number | null => (value === null ? null : Math.round(value * 1e6) / 1e6);
const lines = ({ edges }: Topology): string[] =>
  edges.map(({ id, sources, stats }) => {
    const { requestRate, errorShare, p50Ms, bytesPerSecond, bytesBackPerSecond } = stats;
    const numbers = [requestRate, errorShare, p50Ms, bytesPerSecond, bytesBackPerSecond].map(round);
    return `${id.replaceAll('workload/shop/Deployment/', '')} ${sources.join('+')} ${numbers.join(' ')}`;
  });

test('addresses and names resolve to workloads; between two workloads is one edge, with the caller’s numbers', async () => {
  expect(lines(await topology()).sort()).toEqual(
    [
      'external/203.0.113.0/24>web>tcp flows    70 0',
      'unknown>web>http requests 16    ',
      'checkout>cart>tcp flows    300 0',
      'web>external/api.example.com>http requests 1 0.1 55.555556  ',
      'web>checkout>http requests+flows 12 0.1 55.555556 1000 5000',
      'workload/ops/Pod/probe>web>http requests 4 0.1 55.555556  ',
    ].sort(),
  );
});

/** The end of five minutes of flows between the workloads left and right, which both have pods on both nodes. */
const spreadAt = end - 7_200_000;

/** What the agents of both nodes make of the flows that their instruments report. */
function spreadFlows(): void {
  const podsOf = new Map(
    nodes.map((nodeName) => {
      const pods = new PodIndex();
      for (const name of ['left', 'right']) {
        const pod = aPod(`shop/${name}-x`, { owner: ['StatefulSet', name] });
        pods.upsert(podIdentity({ ...pod, spec: { ...(pod['spec'] as object), nodeName } }), 0);
      }
      pods.markSynced();
      return [nodeName, pods];
    }),
  );
  const report = (seenOn: string, from: string, to: string, perSecond: number): void => {
    const side = (end_: string, name: string, node: string): [string, string][] => [
      [`k8s.${end_}.namespace`, 'shop'],
      [`k8s.${end_}.owner.name`, name],
      [`k8s.${end_}.owner.type`, 'StatefulSet'],
      [`k8s.${end_}.node.name`, node],
    ];
    const told = [['direction', 'request'] as const, ...side('src', 'left', from), ...side('dst', 'right', to)];
    const { attributes } = enrichFlow(
      told.map(([key, value]) => ({ key, value })),
      podsOf.get(seenOn)!,
    );
    const labels = Object.fromEntries(attributes.map(({ key, value }) => [key.replaceAll('.', '_'), String(value)]));
    count(seenOn, { __name__: 'ebpf_network_flow_bytes', ...labels }, perSecond, spreadAt);
  };
  report('node-1', 'node-1', 'node-1', 1);
  for (const seenOn of nodes) report(seenOn, 'node-1', 'node-2', 20);
  for (const seenOn of nodes) report(seenOn, 'node-2', 'node-1', 300);
  report('node-2', 'node-2', 'node-2', 4_000);
}

test('of workloads that both have pods on two nodes, each byte counts once', async () => {
  expect(lines(await topology({ end: String(spreadAt / 1000) }))).toEqual([
    'workload/shop/StatefulSet/left>workload/shop/StatefulSet/right>tcp flows    4321 0',
  ]);
});

test('gRPC calls are edges, with the metric names of each instrument version', async () => {
  const probe = { k8s_namespace_name: 'ops', k8s_pod_name: 'probe' };
  const to = (server_address: string): Record<string, string> => ({ ...probe, server_address });
  const v10 = { label: 'rpc_response_status_code', ok: 'OK', failed: 'INTERNAL' };
  const v9 = { label: 'rpc_grpc_status_code', ok: '0', failed: '13' };
  const before = end - 3_600_000;
  requests('node-2', 'rpc_client_call_duration', to('a.example.com'), 3, v10, before);
  requests('node-2', 'rpc_client_duration', to('b.example.com'), 5, v9, before);
  requests('node-2', 'rpc_server_duration', probe, 6, v9, before);
  expect(lines(await topology({ end: String(before / 1000) })).sort()).toEqual([
    'unknown>workload/ops/Pod/probe>grpc requests 6 0.1 55.555556  ',
    'workload/ops/Pod/probe>external/a.example.com>grpc requests 3 0.1 55.555556  ',
    'workload/ops/Pod/probe>external/b.example.com>grpc requests 5 0.1 55.555556  ',
  ]);
});

test('a workload has the numbers of its own metrics, and a node if all its pods are on one', async () => {
  const { nodes: all, by, window } = await topology();
  expect([by, window.endMs, window.endMs - window.startMs]).toEqual(['workload', end, 300_000]);
  const web = all.find(({ name }) => name === 'web')!;
  expect(web).toMatchObject({ kind: 'workload', namespace: 'shop', workloadKind: 'Deployment', node: 'node-1' });
  expect([web.inbound, web.outbound].map(({ requestRate }) => round(requestRate))).toEqual([20, 13]);
  expect([web.inbound.bytesPerSecond, web.outbound.bytesPerSecond].map((v) => round(v))).toEqual([70, 1000]);
});

test.each([
  ['plain traffic by workload', end, 'workload', 11],
  ['plain traffic by namespace', end, 'namespace', 9],
  ['plain traffic by node', end, 'node', 11],
  ['mixed traffic by workload', mixedAt, 'workload', 10],
  ['mixed traffic by namespace', mixedAt, 'namespace', 7],
  ['mixed traffic by node', mixedAt, 'node', 4],
  ['spread traffic by workload', spreadAt, 'workload', 1],
  ['spread traffic by namespace', spreadAt, 'namespace', 1],
  ['spread traffic by node', spreadAt, 'node', 6],
])('the PromQL of each edge gives the numbers of that edge: %s', async (_, endMs, by, queries) => {
  const time = String(endMs / 1000);
  const { edges } = await topology({ by, end: time });
  let asked = 0;
  for (const { id, stats, promql } of edges) {
    const pairs = [
      [promql.requestRate, stats.requestRate],
      [promql.errorShare, stats.errorShare],
      [promql.p99, stats.p99Ms === null ? null : stats.p99Ms / 1000],
      [promql.bytes, stats.bytesPerSecond],
    ] as const;
    for (const [query, expected] of pairs) {
      if (query === undefined) continue;
      const { json } = await ask('/api/v1/query', { query, time });
      const { result } = json.data as { result: { value: [number, string] }[] };
      expect([id, query, Number(result[0]?.value[1]).toFixed(6)]).toEqual([id, query, expected!.toFixed(6)]);
      asked++;
    }
  }
  expect(asked).toBe(queries);
});

test('the request rates of the edges of captured callers add up to the PromQL sum, in every grouping', async () => {
  const { json } = await ask('/api/v1/query', { query: 'sum(rate(http_client_request_duration_count[5m]))', time: at });
  const { result } = json.data as { result: { value: [number, string] }[] };
  for (const by of ['workload', 'namespace', 'node']) {
    const { edges } = await topology({ by });
    const sum = edges
      .filter(({ source }) => source !== 'unknown')
      .reduce((total, { stats }) => total + (stats.requestRate ?? 0), 0);
    expect([by, sum.toFixed(6)]).toEqual([by, Number(result[0]!.value[1]).toFixed(6)]);
  }
});

test('workloads can be grouped by namespace or node, and a namespace filter keeps edges with an end in it', async () => {
  expect(lines(await topology({ by: 'namespace', namespace: 'ops' }))).toEqual([
    'namespace/ops>namespace/shop>http requests 4 0.1 55.555556  ',
  ]);
  expect((await topology({ by: 'node' })).edges.map(({ id }) => id)).toContain('node/node-1>node/node-2>http');
});

test('a tenant sees its own edges and the names of peers by address, but no other edges of these peers', async () => {
  const { nodes: seen, edges } = await topology({ end: String(hostsAt / 1000) }, 'ops');
  expect(edges.map(({ source }) => source)).toEqual(edges.map(() => 'workload/ops/Pod/probe'));
  expect(seen.flatMap(({ kind, id }) => (kind === 'workload' ? [id] : [])).sort()).toEqual([
    'workload/ops/Pod/probe',
    'workload/shop/Deployment/web',
  ]);
  const web = seen.find(({ name }) => name === 'web')!;
  expect([web.node, round(web.inbound.requestRate), web.outbound.requestRate]).toEqual([undefined, 4, null]);
  const byNode = await topology({ by: 'node', end: String(hostsAt / 1000) }, 'ops');
  expect(byNode.edges.map(({ id }) => id)).toContain('node/node-2>unknown>http');
  expect(byNode.nodes.filter(({ kind }) => kind === 'node').map(({ name }) => name)).toEqual(['node-2']);
});

test('a host that a tenant names in a namespace hidden from it stays the text, whether it exists or not', async () => {
  const targets = async (token: string): Promise<string[]> => {
    const { edges } = await topology({ end: String(hostsAt / 1000) }, token);
    return edges.map(({ target }) => target.replace('workload/shop/Deployment/', '')).sort();
  };
  expect(await targets('ops')).toEqual(
    [
      ...['external/cart.shop', 'external/gone.shop', 'external/checkout-svc.shop.svc'],
      ...['external/gone.shop.svc.cluster.local', 'external/10-0-0-3.shop.pod', 'external/10-0-0-9.shop.pod'],
      ...['external/10-0-0-3.x.pod', 'unknown', 'web'],
    ].sort(),
  );
  expect(await targets('admin')).toEqual(['cart', 'checkout', 'external/gone.shop', 'unknown', 'web']);
});

test('a node that does not answer makes the answer degraded', async () => {
  cluster.agents[1]!.misbehave = (_req, res) => void res.writeHead(500).end();
  try {
    const { json } = await ask('/api/v1/topology', { end: at });
    expect([json.degraded, json.missingNodes]).toEqual([true, ['node-2']]);
  } finally {
    cluster.agents[1]!.misbehave = undefined;
  }
});

test('the graph is computed by the agents, each of which is asked twice', async () => {
  const before = cluster.agents.map(({ requests: count }) => count);
  await topology({ end: String(end / 1000 - 1) });
  expect(cluster.agents.map(({ requests: count }, i) => count - before[i]!)).toEqual([2, 2]);
});

test('agents of an earlier release, which refuse version 3 of the request, lead to the same answer', async () => {
  const asked = { end: String(end / 1000 - 2) };
  const now = await topology(asked);
  let refused = 0;
  for (const agent of cluster.agents) {
    agent.misbehave = (req, res) => {
      const parts: Buffer[] = [];
      req.on('data', (part: Buffer) => parts.push(part));
      req.on('end', () => {
        const body = Buffer.concat(parts);
        if ((body.toString().startsWith('{') ? (JSON.parse(body.toString()) as { v?: number }).v : 1) === 3) {
          refused++;
          return void res.writeHead(501).end('{"message":"version 3 is neither 1 nor 2"}');
        }
        const again = Object.assign(Readable.from([body]), { method: req.method, url: req.url, headers: req.headers });
        agent.serve(Object.assign(again, { socket: req.socket }) as unknown as IncomingMessage, res);
      });
    };
  }
  try {
    expect(await topology(asked)).toEqual(now);
    expect(refused).toBeGreaterThan(0);
  } finally {
    for (const agent of cluster.agents) agent.misbehave = undefined;
  }
});

test.each([
  [{ by: 'pod' }, 'by'],
  [{ window: '5s' }, 'window'],
  [{ window: '5m', start: '0' }, 'window'],
  [{ start: '0' }, 'start'],
  [{ format: 'svg' }, 'format'],
])('%o is refused, and the error names the parameter', async (params, name) => {
  const { status, json } = await ask('/api/v1/topology', { end: at, ...params });
  expect([status, json.error]).toEqual([400, expect.stringContaining(`parameter "${name}"`)]);
});

test('a Grafana node graph gets two frames with the field names that it looks for', async () => {
  const { json } = await ask('/api/v1/topology', { end: at, format: 'grafana' });
  const { nodes: rows, edges } = json.data as Record<'nodes' | 'edges', Record<string, unknown>[]>;
  expect(rows!.find(({ title }) => title === 'checkout')).toMatchObject({ subtitle: 'shop', mainstat: '12 req/s' });
  expect(Object.keys(edges![0]!)).toEqual(
    expect.arrayContaining(['id', 'source', 'target', 'mainstat', 'secondarystat']),
  );
  for (const row of rows!) {
    const arcs = Object.entries(row).filter(([key]) => key.startsWith('arc__'));
    expect(arcs.reduce((sum, [, share]) => sum + (share as number), 0)).toBeCloseTo(1, 9);
  }
});

const services = async (token?: string): Promise<ServiceSummary[]> => {
  const { status, json } = await ask('/api/v1/services', { end: at, window: '8m' }, token);
  expect(status).toBe(200);
  return json.data as ServiceSummary[];
};

test('every workload is a service, with its numbers or the reason why it has none', async () => {
  const all = await services();
  expect(
    all.map(({ namespace, workload, requestRate, captured, why }) => [
      `${namespace}/${workload}`,
      round(requestRate),
      captured,
      why,
    ]),
  ).toEqual([
    ['ops/probe', null, true, null],
    ['shop/away', null, false, 'no agent answers where its pods are: node-9: no agent is expected there'],
    ['shop/batch', null, false, 'TrafficMonitor shop/not-batch excludes it'],
    ['shop/cart', null, true, null],
    ['shop/checkout', 12, true, null],
    ['shop/idle', null, false, 'neither a request nor a flow was seen in the window'],
    ['shop/web', 20, true, null],
  ]);
  const web = all.at(-1)!;
  expect(web).toMatchObject({ workloadKind: 'Deployment', nodes: ['node-1'], monitors: ['all'] });
  expect([web.errorShare, web.p50Ms].map(round)).toEqual([0.1, 55.555556]);
  expect(web.sparkline.stepSeconds).toBe(8);
  expect([web.sparkline.requestRate.length, round(web.sparkline.requestRate.at(-1)!)]).toEqual([60, 20]);
  expect(round(web.sparkline.errorShare.at(-1)!)).toBe(0.1);
});

test('a caller sees the services of the namespaces whose pods it may read', async () => {
  expect(
    (await services('ops')).map(({ namespace, workload, monitors: names }) => [namespace, workload, names]),
  ).toEqual([['ops', 'probe', []]]);
});

test('a caller who may not list the monitors of a namespace learns of none, and they count as not known', async () => {
  const seen = await services('pods-of-shop');
  expect(seen.map(({ workload, monitors: names, why }) => [workload, names, why])).toEqual([
    ['away', null, 'no agent answers where its pods are: node-9: no agent is expected there'],
    ['batch', null, 'neither a request nor a flow was seen in the window'],
    ['cart', null, null],
    ['checkout', null, null],
    ['idle', null, 'neither a request nor a flow was seen in the window'],
    ['web', null, null],
  ]);
});

test('a caller gets the objects that it may list, and learns whether there are others', async () => {
  const read = async (of: string, token?: string): Promise<Objects> =>
    (await ask('/api/v1/objects', { kind: of }, token)).json.data as Objects;
  const all = await read('TrafficMonitor');
  expect([all.forbidden, all.items.map(({ metadata }) => metadata.name)]).toEqual([
    false,
    ['probes', 'all', 'not-batch'],
  ]);
  expect(all.items[0]).toEqual({
    metadata: { name: 'probes', namespace: 'ops', generation: 2 },
    ...{ spec: {}, status: { pods: 1 } },
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Programmed', message: '', good: true },
      { type: 'Conflicted', status: 'False', reason: 'NoConflict', message: '', good: true },
    ],
  });
  const own = await read('TrafficMonitor', 'ops');
  expect([own.forbidden, own.items.map(({ metadata }) => metadata.name)]).toEqual([true, ['probes']]);
  const none = await read('Node', 'ops');
  expect([none.forbidden, none.items]).toEqual([true, []]);
  const { items } = await read('Node');
  expect(items.map(({ metadata, node }) => [metadata.name, node!.agentVersion, node!.missing])).toEqual([
    ['node-1', '1.2.3', null],
    ['node-9', null, 'no agent is expected there'],
  ]);
  expect(items[0]!.node).toEqual({
    ...{ missing: null, agentVersion: '1.2.3', instrumentVersion: 'v0.10.0', phase: 'Running', configHash: 'abc' },
    ...{ instrumentUp: true, instrumentRestarts: 2, seriesActive: 40, seriesLimit: 1000, seriesLimitHits: 7 },
    // A value that was never measured is 0 in the store and null here.
    ...{ agentMemoryBytes: 96e6, instrumentMemoryBytes: null, clockOffsetMs: 0, certificateEndMs: end + 86_400_000 },
    notCaptured: [{ namespace: 'shop', monitor: 'all', reason: 'NotAttached: no process to watch' }],
  });
  expect((await ask('/api/v1/objects', { kind: 'Secret' })).status).toBe(400);
});

test('a caller who may list every object that decides about a workload’s pods gets the explanation', async () => {
  const of = async (workload: string): Promise<WorkloadExplanation> => {
    const { status, json } = await ask('/api/v1/explain', { namespace: 'shop', kind: 'Pod', workload });
    expect(status).toBe(200);
    return json.data as WorkloadExplanation;
  };
  const said = ({ pods }: WorkloadExplanation): string[] =>
    pods.flatMap(({ pod, node, steps }) => [
      `${pod} on ${node}`,
      ...steps.map(({ asks, answer, fact }) => `${asks} ${answer}: ${fact}`),
    ]);
  expect(said(await of('batch'))).toEqual([
    'batch on node-1',
    'policy yes: no policy applies here: built-in settings are in force',
    'not excluded no: excluded by TrafficMonitor/shop/not-batch',
    'selected yes: no monitor does; processes on 8000-8100 are captured without one (built in); ' +
      'TrafficMonitor shop/all: is not accepted: spec: select something; use selector: {} for the whole namespace',
    'port yes: 8080 (web) in 8000-8100',
    'signals yes: metrics and spans',
    'agent yes: the agent of node-1 answers',
    'data no: no series of the pod in the last 5 minutes',
  ]);
  expect(said(await of('away')).slice(-2)).toEqual([
    'agent no: node-9: no agent is expected there',
    'data unknown: unknown without the agent of node-9',
  ]);
  const { settings, operator } = await of('idle');
  expect(operator).toEqual({ instrumentVersion: 'v0.9.1', instrumentPorts: '8000-8100', allowExtraConfig: true });
  expect(settings.find(({ path }) => path === 'limits.maxSeries')).toMatchObject({ from: 'built-in' });
  const refused = await ask('/api/v1/explain', { namespace: 'shop', kind: 'Pod', workload: 'idle' }, 'shop');
  expect([refused.status, refused.json.error]).toEqual([403, 'you may not list clustertrafficpolicies, nodes']);
  expect((await ask('/api/v1/explain', { namespace: 'shop', kind: 'Pod' })).status).toBe(400);
});

test('a workload without pods is explained without asking the agents', async () => {
  const before = cluster.agents.map(({ requests: count }) => count);
  const { status, json } = await ask('/api/v1/explain', { namespace: 'shop', kind: 'Pod', workload: 'gone' });
  expect([status, (json.data as WorkloadExplanation).pods, json.degraded]).toEqual([200, [], false]);
  expect(cluster.agents.map(({ requests: count }) => count)).toEqual(before);
});

test('a pod has data when it has a sample of the last five minutes, whatever the lookback of queries', async () => {
  const labels = { k8s_namespace_name: 'shop', k8s_pod_name: 'idle' };
  cluster.append('node-1', { __name__: 'late', ...labels }, Date.now() - 3 * 60_000, 1);
  cluster.append('node-1', { __name__: 'too_late', ...labels }, Date.now() - 6 * 60_000, 1);
  const facts = ['1m', '5m', '1h'].map(async (lookback) => {
    const params = { namespace: 'shop', kind: 'Pod', workload: 'idle', lookback_delta: lookback };
    const { json } = await ask('/api/v1/explain', params);
    return (json.data as WorkloadExplanation).pods[0]!.steps.at(-1)!.fact;
  });
  expect(await Promise.all(facts)).toEqual(['1 series', '1 series', '1 series']);
});
