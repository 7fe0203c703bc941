import { builtinLimits, type CaptureConfig, compile } from '../../capture/index.ts';
import { aPolicy, aWorld } from '../../testing/capture/world.ts';
import { aPod, nodePods, senderAttributes } from '../../testing/node-pods.ts';
import { podIdentity } from '../identity/pod-identity.ts';
import type { Attribute, MetricsRequest } from '../otlp/model.ts';
import type { SeriesRef } from '../../tsdb/index.ts';
import { SeriesMapper } from './mapper.ts';
import { policyOf } from './policy.ts';

const t0 = 1_800_000_000_000;
const attributes = (labels: Record<string, string>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));

interface Told {
  readonly name: string;
  readonly resource?: readonly Attribute[];
  readonly point?: Record<string, string>;
  readonly value?: number;
  readonly startNs?: number;
}

function request({ name, resource = shop, point = {}, value = 1, startNs = 1 }: Told, tMs: number): MetricsRequest {
  const points = [{ attributes: attributes(point), startNs, timeNs: tMs * 1e6, noValue: false, value, exemplars: [] }];
  const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
  const metrics = [{ name, description: '', unit: '', data }];
  return { resources: [{ attributes: resource, scopes: [{ scope: { name: '', version: '' }, metrics }] }] };
}

const shop = attributes({ 'service.instance.id': 'shop.web-1.' });

type Rule = Partial<CaptureConfig['monitors'][number]>;

function aConfig(rules: readonly Rule[], change: Partial<CaptureConfig> = {}): CaptureConfig {
  return {
    version: 1,
    node: 'n',
    instrument: { version: 'v0.10', yaml: 'x' },
    monitors: rules.map((rule, i) => ({ namespace: 'shop', name: `m${i}`, uid: '', pods: ['web-1'], ...rule })),
    limits: builtinLimits,
    retention: { metrics: { timeMs: 1, sizeBytes: 1 }, spans: { timeMs: 1, sizeBytes: 1 } },
    generations: {},
    ...change,
  };
}

class Run {
  readonly identity = nodePods(aPod('shop/web-1', { containers: [] }), aPod('pay/db-0', { containers: [] }));
  readonly samples: string[] = [];
  readonly mapper: SeriesMapper;
  constructor(config: CaptureConfig) {
    this.mapper = new SeriesMapper(policyOf('n', config), this.identity);
  }
  readonly sink = {
    append: ({ labels }: SeriesRef, tMs: number, value: number): void => {
      const text = labels.filter(([k]) => k !== 'k8s_node_name').map(([k, v]) => `${k}=${v}`);
      this.samples.push(`${text.join(',')} ${(tMs - t0) / 1_000} ${value}`);
    },
    stale: ({ labels }: SeriesRef, tMs: number): void => {
      this.samples.push(`stale ${labels.find(([k]) => k === 'k8s_pod_name')?.[1]} ${(tMs - t0) / 1_000}`);
    },
    start: (): void => {},
    stored: (): number => NaN,
  };
  send(told: Told, seconds: number): void {
    this.sendAll([told], seconds);
  }
  /** The points of one request. */
  sendAll(points: readonly Told[], seconds: number): void {
    const at = { wall: t0 + seconds * 1_000, mono: seconds * 1_000 };
    this.mapper.add({ resources: points.flatMap((one) => request(one, at.wall).resources) }, at, this.sink);
    this.mapper.flush(this.sink);
  }
  get names(): string[] {
    return [...this.mapper.table.families.keys()].sort();
  }
}

const told: readonly Told[] = [
  { name: 'http.server.request.count', point: { 'url.path': '/live' } },
  { name: 'rpc.server.call.count', point: { 'rpc.system': 'grpc' } },
  { name: 'db.client.redis', point: { 'db.system.name': 'redis' } },
  { name: 'db.client.postgres', point: { 'db.system.name': 'postgresql' } },
  { name: 'messaging.kafka', point: { 'messaging.system': 'kafka' } },
  { name: 'obi.network.flow.bytes' },
];

test.each<[string, Rule[], string[]]>([
  [
    'everything (there is no monitor)',
    [],
    [
      'db_client_postgres',
      'db_client_redis',
      'ebpf_network_flow_bytes',
      'http_server_request_count',
      'messaging_kafka',
      'rpc_server_call_count',
    ],
  ],
  ['SQL only', [{ protocols: ['SQL'] }], ['db_client_postgres', 'ebpf_network_flow_bytes']],
  [
    'HTTP of one monitor and Redis of another',
    [{ protocols: ['HTTP'] }, { protocols: ['Redis'] }],
    ['db_client_redis', 'ebpf_network_flow_bytes', 'http_server_request_count'],
  ],
  [
    'HTTP of one monitor and everything of another',
    [{ protocols: ['HTTP'] }, {}],
    [
      'db_client_postgres',
      'db_client_redis',
      'ebpf_network_flow_bytes',
      'http_server_request_count',
      'messaging_kafka',
      'rpc_server_call_count',
    ],
  ],
  [
    'HTTP without ignored paths (the request has no route, so its path is compared)',
    [{ protocols: ['HTTP'], ignorePaths: ['/live*'] }],
    ['ebpf_network_flow_bytes'],
  ],
  [
    'families and protocols together',
    [{ protocols: ['HTTP', 'Kafka'], families: ['Messaging'] }],
    // A flow has two ends, so the rules of one pod do not drop it.
    ['ebpf_network_flow_bytes', 'messaging_kafka'],
  ],
])('with rules for %s a pod keeps only the series that they select', (_what, rules, expected) => {
  const run = new Run(aConfig(rules));
  for (const t of told) run.send(t, 1);
  expect(run.names).toEqual(expected);
});

describe('an interval that is longer than the export interval', () => {
  const name = 'http.server.request.count';
  test('keeps one sample per interval, and the newest when the series ends', () => {
    const run = new Run(aConfig([{ intervalMs: 30_000 }]));
    for (let s = 0; s <= 100; s += 10) run.send({ name, value: s }, s);
    expect(run.samples.map((s) => s.split(' ').slice(1).join(' '))).toEqual(['0 0', '30 30', '60 60', '90 90']);
    run.mapper.expire({ wall: t0 + 300_000, mono: 300_000 }, run.sink);
    expect(run.samples.slice(4).map((s) => s.split(' ').slice(-2).join(' '))).toEqual(['100 100', 'web-1 300']);
  });

  test('hides no reset: a zero comes before the first sample after the reset', () => {
    const run = new Run(aConfig([{ intervalMs: 30_000 }]));
    run.send({ name, value: 5 }, 0);
    run.send({ name, value: 50 }, 10);
    run.send({ name, value: 20, startNs: (t0 + 15_000) * 1e6 }, 20);
    run.send({ name, value: 30, startNs: (t0 + 15_000) * 1e6 }, 30);
    expect(run.samples.map((s) => s.split(' ').slice(1).join(' '))).toEqual(['0 5', '15 0', '30 30']);
  });

  test('no longer applies as soon as a config has no interval', () => {
    const run = new Run(aConfig([{ intervalMs: 30_000 }]));
    run.send({ name, value: 1 }, 0);
    run.mapper.setPolicy(policyOf('n', aConfig([{}])), { wall: t0, mono: 0 }, run.sink);
    run.send({ name, value: 2 }, 10);
    expect(run.samples).toHaveLength(2);
  });

  describe('of series that several streams feed', () => {
    const servers = ['a', 'b'].map((server) => ({ name, point: { 'server.address': server } }));
    const times = (run: Run): number[] => run.samples.splice(0).map((s) => Number(s.split(' ')[1]));
    const set = (run: Run, rules: Rule[], seconds: number): void =>
      run.mapper.setPolicy(
        policyOf('n', aConfig(rules)),
        { wall: t0 + seconds * 1_000, mono: seconds * 1_000 },
        run.sink,
      );

    test('applies as soon as a config has it, also when it gets longer', () => {
      const run = new Run(aConfig([{}]));
      for (const s of [0, 10]) run.sendAll(servers, s);
      expect(times(run)).toEqual([0, 10]);
      set(run, [{ intervalMs: 20_000 }], 10);
      for (const s of [20, 30, 40]) run.sendAll(servers, s);
      expect(times(run)).toEqual([20, 40]);
      set(run, [{ intervalMs: 30_000 }], 40);
      for (const s of [50, 60, 70, 80, 90]) run.sendAll(servers, s);
      expect(times(run)).toEqual([60, 90]);
    });

    test('is the shortest of those of the streams that feed them now', () => {
      const [slow, fast] = ['8080', '9090'].map((port) => ({ name: 'http.server.x', point: { 'server.port': port } }));
      const rules = [
        { ports: '8080', intervalMs: 30_000, dropLabels: ['server_port'] },
        { ports: '9090', dropLabels: ['server_port'] },
      ];
      const run = new Run(aConfig(rules));
      for (const s of [0, 10, 20]) run.sendAll([slow!, fast!], s);
      expect(times(run)).toEqual([0, 10, 20]);
      for (let s = 30; s <= 80; s += 10) run.sendAll([slow!], s);
      expect(run.mapper.table.size).toBe(1);
      run.mapper.expire({ wall: t0 + 80_000, mono: 80_000 }, run.sink);
      times(run);
      for (const s of [90, 100, 110, 120]) run.sendAll([slow!], s);
      expect(times(run)).toEqual([90, 120]);
    });
  });
});

test('pod labels become labels and follow the pod: the old series ends, and the counter goes on in a new one', () => {
  const run = new Run(aConfig([{ podLabels: ['team', 'app.kubernetes.io/name', 'absent', 'constructor'] }]));
  const pod = (team: string): void =>
    run.identity.pods.upsert(
      podIdentity({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: 'shop', name: 'web-1', uid: 'u', labels: { team, 'app.kubernetes.io/name': 'web' } },
      }),
      0,
    );
  pod('red');
  run.send({ name: 'http.server.request.count', value: 7 }, 1);
  expect(run.samples).toEqual([
    '__name__=http_server_request_count,k8s_namespace_name=shop,k8s_pod_name=web-1,label_app_kubernetes_io_name=web,label_team=red 1 7',
  ]);
  pod('blue');
  run.mapper.refreshIdentity({ wall: t0 + 2_000, mono: 2_000 }, run.sink);
  run.send({ name: 'http.server.request.count', value: 9 }, 3);
  expect(run.samples[1]).toBe('stale web-1 2');
  expect(run.samples[2]).toMatch(/label_team=blue 3 9$/);
});

test('redaction rules of a policy apply to all labels, rules of a namespace only to its own series', () => {
  const redaction: CaptureConfig['redaction'] = [
    { labels: [{ name: 'http_route', action: 'Drop' }], paths: [{ pattern: '[0-9]+', replacement: '#' }] },
    { namespaces: ['pay'], labels: [{ name: 'service_name', action: 'Drop' }] },
  ];
  const run = new Run(aConfig([], { redaction }));
  const point = { 'http.route': '/x', 'url.path': '/u/17', 'service.name': 's', 'client.address': '1.2.3.4' };
  run.send({ name: 'a.b', point }, 1);
  run.send({ name: 'a.b', point, resource: attributes({ 'service.instance.id': 'pay.db-0.' }) }, 1);
  expect(run.samples).toEqual([
    '__name__=a_b,k8s_namespace_name=shop,k8s_pod_name=web-1,service_name=s,url_path=/u/# 1 1',
    '__name__=a_b,k8s_namespace_name=pay,k8s_pod_name=db-0,url_path=/u/# 1 1',
  ]);
});

test('flows that differ only in the far node share a series, unless a policy asks for that node', () => {
  const asking = (attributes_: string[]): CaptureConfig =>
    compile(aWorld({ policies: [aPolicy('p', { network: { enabled: true, attributes: attributes_ } })] })).nodes.get(
      'node-1',
    )!.config;
  const run = new Run(asking([]));
  const send = (far: string, value: number, seconds: number): void => {
    const src = { 'k8s.src.namespace': 'shop', 'k8s.src.owner.name': 'web-1', 'k8s.src.node.name': 'n' };
    const dst = { 'k8s.dst.namespace': 'ops', 'k8s.dst.owner.name': 'log', 'k8s.dst.node.name': far };
    run.send({ name: 'obi.network.flow.bytes', point: { ...src, ...dst }, value }, seconds);
  };
  const ends =
    '__name__=ebpf_network_flow_bytes,k8s_dst_namespace=ops,*k8s_dst_owner_name=log,k8s_src_namespace=shop,k8s_src_node_name=n,k8s_src_owner_name=web-1';
  send('b', 10, 1);
  send('c', 5, 2);
  send('b', 11, 3);
  const plain = ends.replace('*', '');
  expect(run.samples.splice(0)).toEqual([`${plain} 1 10`, `${plain} 2 15`, `${plain} 3 16`]);
  const asked = ['k8s.dst.node.name', 'k8s.src.node.name', 'k8s.dst.*'];
  for (const [i, attribute] of asked.entries()) {
    run.mapper.setPolicy(policyOf('n', asking([attribute])), { wall: t0, mono: 0 }, run.sink);
    send('b', 20 + i, 10 + i);
    expect(run.samples.at(-1)).toMatch(
      attribute.startsWith('k8s.dst') ? ends.replace('*', 'k8s_dst_node_name=b,') : plain,
    );
  }
});

test('the interval of exports is that of the metrics in the instrument’s file', () => {
  const exporting = (instrument: object): number => {
    const { nodes } = compile(aWorld({ policies: [aPolicy('p', { instrument })] }));
    return policyOf('n', nodes.get('node-1')!.config).exportIntervalMs;
  };
  expect(exporting({ exportInterval: '2m30s', pollInterval: '20s' })).toBe(150_000);
  expect(exporting({})).toBe(10_000);
});

test('exponential histograms are converted to the bounds of the policy', () => {
  const config = aConfig([], { histogram: { durationBounds: [1, 2] } });
  expect(policyOf('n', config).durationBounds).toEqual([1, 2]);
  expect(policyOf('n', config).sizeBounds[0]).toBe(0);
  const run = new Run(config);
  const times = { startNs: 1, timeNs: t0 * 1e6, attributes: [], noValue: false, exemplars: [] };
  const values = { count: 2, sum: 4, min: null, max: null, scale: 0, zeroCount: 0, zeroThreshold: 0 };
  // One value from 1 to 2, and one above.
  const buckets = { positive: { offset: 0, counts: [1, 1] }, negative: { offset: 0, counts: [] } };
  const points = [{ ...times, ...values, ...buckets }];
  const data = { kind: 'exponential', temporality: 'cumulative', points } as const;
  const metrics = [{ name: 'http.server.request.duration', description: '', unit: 's', data }];
  const resources = [{ attributes: shop, scopes: [{ scope: { name: '', version: '' }, metrics }] }];
  run.mapper.add({ resources }, { wall: t0, mono: 0 }, run.sink);
  run.mapper.flush(run.sink);
  const counts = run.samples.flatMap((text) => /_bucket,.*le=([^, ]+).* (\d+)$/.exec(text)?.slice(1) ?? []);
  expect(counts).toEqual(['1', '0', '2', '1', '+Inf', '2']);
});

describe('a monitor of some containers or ports', () => {
  const sidecar = attributes({ 'service.instance.id': 'shop.two.proxy' });
  const main = attributes({ 'service.instance.id': 'shop.two.app' });
  const point = { 'http.route': '/a', 'url.scheme': 'http', 'server.port': '8080' };
  const run = (rule: Rule) => {
    const config = aConfig([{ pods: ['two'], dropLabels: ['http_route'], ...rule }], {
      fallback: [{ namespaces: ['shop'], dropLabels: ['url_scheme'] }],
    });
    const made = new Run(config);
    made.identity.pods.upsert(podIdentity(aPod('shop/two', { containers: ['app', 'proxy'] })), 0);
    return made;
  };
  /** The container of each sample, and whose rules applied: monitor and namespace drop one label each. */
  const ruled = (made: Run): string[] =>
    made.samples.map((text) => {
      const left = ['http_route', 'url_scheme'].filter((label) => text.includes(`${label}=`)).join();
      const rules = left === 'url_scheme' ? 'monitor' : left === 'http_route' ? 'namespace' : left;
      return `${/k8s_container_name=(\w+)/.exec(text)?.[1]} ${rules}`;
    });

  test('leaves a sidecar that it does not include to the rules of its namespace', () => {
    const made = run({ containers: ['a*'] });
    for (const resource of [main, sidecar]) made.send({ name: 'http.server.x', resource, point }, 1);
    expect(ruled(made)).toEqual(['app monitor', 'proxy namespace']);
    expect(made.mapper.limits.monitors[0]!.activeSeries).toBe(1);
  });

  test('leaves other ports of the process to the rules of its namespace, and covers its client series', () => {
    const made = run({ ports: '8000-8090,9000' });
    made.send({ name: 'http.server.x', resource: main, point }, 1);
    made.send({ name: 'http.server.x', resource: main, point: { ...point, 'server.port': '15001' } }, 1);
    made.send({ name: 'http.client.x', resource: main, point: { ...point, 'server.port': '443' } }, 1);
    expect(ruled(made)).toEqual(['app monitor', 'app namespace', 'app monitor']);
  });
});

test('a monitor without metric families keeps no series, but its pod’s points still identify the sender of spans', () => {
  const resource = senderAttributes('shop/web-1');
  const told: Told[] = ['http.server.request.duration', 'jvm.threads'].map((name) => ({ name, resource }));
  const spansOnly = new Run(aConfig([{ families: [] }]));
  expect(spansOnly.identity.spans(resource).pod).toBeNull();
  for (const one of told) spansOnly.send(one, 1);
  expect([spansOnly.samples, spansOnly.identity.spans(resource).pod?.name]).toEqual([[], 'web-1']);
  const both = new Run(aConfig([{ families: [] }, { families: ['HTTPServer'] }]));
  for (const one of told) both.send(one, 1);
  expect(both.names).toContain('http_server_request_duration');
});

test('points identify the sender of spans even where limits refuse their series', () => {
  const limits = { ...builtinLimits, maxSeriesPerNode: 0, maxSeriesPerNamespace: 0 };
  const run = new Run(aConfig([{}], { limits }));
  const resource = senderAttributes('shop/web-1');
  run.send({ name: 'http.server.request.duration', resource }, 1);
  expect(run.mapper.counts.refused).toBe(1);
  expect(run.identity.spans(resource).pod?.name).toBe('web-1');
});

describe('data with two ends', () => {
  const asking: Rule = { pods: ['web-1'], families: ['HTTPServer', 'TCPStats'] };
  const without: NonNullable<CaptureConfig['fallback']> = [{ families: ['HTTPServer', 'NetworkFlow'] }];
  const end = (side: 'src' | 'dst', namespace: string, owner: string): Record<string, string> => ({
    [`k8s.${side}.namespace`]: namespace,
    [`k8s.${side}.owner.name`]: owner,
  });
  const toWeb = { ...end('src', 'far', 'client'), ...end('dst', 'shop', 'web-1') };
  const toDb = { ...end('src', 'far', 'client'), ...end('dst', 'pay', 'db-0') };
  const outward = end('src', 'far', 'client');
  /** The destinations whose statistics are kept, `''` for a connection without an end on this node. */
  const kept = (rules: readonly Rule[], change: Partial<CaptureConfig> = {}): string[] => {
    const run = new Run(aConfig(rules, change));
    for (const point of [toWeb, toDb, outward]) run.send({ name: 'obi.stat.tcp.rtt', point }, 1);
    return run.samples.map((text) => /k8s_dst_owner_name=([^, ]+)/.exec(text)?.[1] ?? '');
  };

  test.each<[string, readonly Rule[], NonNullable<CaptureConfig['fallback']>, string[]]>([
    ['of the pod whose monitor names them, whatever the fallback', [asking], without, ['web-1']],
    ['of that pod where there is no fallback', [asking], [], ['web-1']],
    ['of that pod where the fallback is of other namespaces', [asking], [{ namespaces: ['far'] }], ['web-1']],
    ['of the pods for which the fallback names them', [], [{ namespaces: ['pay'], families: ['TCPStats'] }], ['db-0']],
    ['of nobody where no rule names them', [{}], [{}], []],
    ['of nobody where there is no rule', [], [], []],
    ['of all where a fallback of every namespace names them', [], [{ families: ['TCPStats'] }], ['web-1', 'db-0', '']],
    [
      'of a pod with a monitor that does not name them, not although its fallback does',
      [{ pods: ['web-1'], families: ['HTTPServer'] }],
      [{ namespaces: ['shop', 'pay'], families: ['TCPStats'] }],
      ['db-0'],
    ],
    [
      'also of a monitor of containers and ports, which statistics do not name',
      [{ ...asking, containers: ['main'], ports: '80' }],
      without,
      ['web-1'],
    ],
  ])('TCP statistics are kept %s', (_what, rules, fallback, expected) => {
    expect(kept(rules, { fallback })).toEqual(expected);
  });

  test('TCP statistics are those of the pods of the workload that an end names, not of the whole namespace', () => {
    const run = new Run(aConfig([asking], { fallback: without }));
    const owner = ['StatefulSet', 'web'] as const;
    run.identity.pods.upsert(podIdentity(aPod('shop/web-1', { containers: [], owner })), 0);
    run.identity.pods.upsert(podIdentity(aPod('shop/cart-1')), 0);
    for (const name of ['web', 'cart-1']) {
      run.send({ name: 'obi.stat.tcp.rtt', point: { ...toWeb, ...end('dst', 'shop', name) } }, 1);
    }
    expect(run.samples).toHaveLength(1);
    expect(run.samples[0]).toContain('k8s_dst_owner_name=web,');
  });

  test('TCP statistics of the connections to a Service are not those of a workload of the same name', () => {
    const run = new Run(aConfig([asking], { fallback: without }));
    const point = { ...end('src', 'pay', 'db-0'), ...end('dst', 'shop', 'web-1'), 'k8s.dst.owner.type': 'Service' };
    run.send({ name: 'obi.stat.tcp.rtt', point }, 1);
    expect(run.samples).toEqual([]);
  });

  test('TCP statistics outlive the pods of their ends by the monitors of the namespace', () => {
    const run = new Run(aConfig([asking]));
    const send = (at: number): void => run.send({ name: 'obi.stat.tcp.rtt', point: toWeb, value: at }, at);
    send(1);
    run.identity.pods.deleted(run.identity.pods.named('shop', 'web-1')!, 0);
    run.identity.pods.sweep(100_000);
    const now = { wall: t0 + 2_000, mono: 2_000 };
    run.mapper.refreshIdentity(now, run.sink);
    run.mapper.setPolicy(policyOf('n', aConfig([asking])), now, run.sink);
    send(3);
    expect(run.samples.map((text) => text.split(' ').slice(1).join(' '))).toEqual(['1 1', '3 3']);
  });

  test('TCP statistics come back when a pod appears that the config named before', () => {
    const owner = ['StatefulSet', 'web'] as const;
    const pod = (name: string) => podIdentity(aPod(`shop/${name}`, { containers: [], owner }));
    const rolled = aConfig([{ ...asking, pods: ['web-new'] }], { fallback: without });
    const run = new Run(aConfig([{ ...asking, pods: ['web-old'] }], { fallback: without }));
    const send = (at: number): void => {
      const point = { ...toWeb, ...end('dst', 'shop', 'web') };
      run.send({ name: 'obi.stat.tcp.rtt', point, value: at }, at);
    };
    run.identity.pods.upsert(pod('web-old'), 0);
    send(1);
    run.mapper.setPolicy(policyOf('n', rolled), { wall: t0 + 2_000, mono: 2_000 }, run.sink);
    send(3);
    run.identity.pods.upsert(pod('web-new'), 0);
    run.mapper.refreshIdentity({ wall: t0 + 4_000, mono: 4_000 }, run.sink);
    send(5);
    const samples = run.samples.map((text) => (text.startsWith('stale') ? 'stale' : text.split(' ').at(-1)));
    expect(samples).toEqual(['1', 'stale', '5']);
  });

  test('a series beyond a limit counts once for it, however many pods and configs come, until it was within it', () => {
    const config = (maxSeriesPerNode: number): CaptureConfig =>
      aConfig([asking], { limits: { ...builtinLimits, maxSeriesPerNode } });
    const run = new Run(config(1));
    const now = { wall: t0 + 2_000, mono: 2_000 };
    for (const x of ['1', '2']) run.send({ name: 'obi.stat.tcp.rtt', point: { ...toWeb, x } }, 1);
    const counted = (): number[] => [run.mapper.limitHits.node, run.mapper.streams];
    expect(counted()).toEqual([1, 2]);
    for (const name of ['web-2', 'web-3']) {
      run.identity.pods.upsert(podIdentity(aPod(`shop/${name}`)), 0);
      expect(run.mapper.refreshIdentity(now, run.sink)).toBe(2);
    }
    run.mapper.setPolicy(policyOf('n', config(1)), now, run.sink);
    expect(counted()).toEqual([1, 2]);
    for (const most of [2, 1]) run.mapper.setPolicy(policyOf('n', config(most)), now, run.sink);
    expect(counted()).toEqual([2, 2]);
  });

  test('both ends of a connection keep what either wants: labels that both drop, and the shorter interval', () => {
    const rule = (name: string, dropLabels: string[], intervalMs: number): Rule => ({
      ...{ namespace: name, pods: [name === 'shop' ? 'web-1' : 'db-0'], families: ['TCPStats'] },
      ...{ dropLabels, intervalMs },
    });
    const rules = [rule('shop', ['a', 'b'], 30_000), rule('pay', ['b', 'c'], 20_000)];
    const run = new Run(aConfig(rules));
    const point = { ...end('src', 'pay', 'db-0'), ...end('dst', 'shop', 'web-1'), a: '1', b: '1', c: '1' };
    for (let at = 0; at <= 40; at += 10) run.send({ name: 'obi.stat.tcp.rtt', point, value: at }, at);
    expect(run.samples.map((text) => text.split(' ').slice(1).join(' '))).toEqual(['0 0', '20 20', '40 40']);
    expect(run.samples[0]).toMatch(/^__name__=ebpf_stat_tcp_rtt,a=1,c=1,k8s/);
  });

  test.each<[string, NonNullable<CaptureConfig['fallback']>]>([
    ['names other families', [{ families: ['HTTPServer'] }]],
    ['switches metrics off', [{ families: [] }]],
  ])('flows belong to the policies’ network: they are kept although the fallback %s', (_what, fallback) => {
    const run = new Run(aConfig([{ families: ['HTTPServer'] }], { fallback }));
    for (const point of [toWeb, toDb, outward]) run.send({ name: 'obi.network.flow.bytes', point }, 1);
    expect(run.samples).toHaveLength(3);
  });

  test('flows lose the labels that the policies drop everywhere', () => {
    const run = new Run(
      aConfig([], { fallback: [{ families: ['HTTPServer'], dropLabels: ['x'], intervalMs: 30_000 }] }),
    );
    for (const at of [0, 10]) run.send({ name: 'obi.network.flow.bytes', point: { ...toWeb, x: '1' } }, at);
    expect(run.samples).toHaveLength(1);
    expect(run.samples[0]).not.toContain('x=1');
  });
});
