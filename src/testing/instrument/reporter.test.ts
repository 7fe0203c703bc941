import type { Metric, Span } from '../../agent/otlp/model.ts';
import { decodeMetricsRequest, decodeTracesRequest } from '../../agent/otlp/protobuf/decode.ts';
import { attachedProcesses } from '../../agent/capture/capture-facts.ts';
import { SeriesMapper } from '../../agent/mapping/mapper.ts';
import { defaultPolicy } from '../../agent/mapping/policy.ts';
import { aPod, nodePods } from '../node-pods.ts';
import { parseInstrumentConfig } from './config.ts';
import type { PodFacts } from './pod-directory.ts';
import { Reporter } from './reporter.ts';

const config = parseInstrumentConfig(
  `metrics: {features: [application]}
otel_metrics_export: {endpoint: "http://agent"}
otel_traces_export: {endpoint: "http://agent"}
discovery: {instrument: [{k8s_namespace: shop}]}`,
  {},
);
const facts: PodFacts = {
  namespace: 'shop',
  node: 'node-1',
  uid: 'u1',
  startTime: '2026-01-01T00:00:00Z',
  labels: {},
  owners: { k8s_replicaset_name: 'checkout-7d9', k8s_deployment_name: 'checkout' },
};

function setUp(
  faults: string[] = [],
  file = config,
): { reporter: Reporter; posts: { url: string; body: Uint8Array }[]; move: (ms: number) => void } {
  const posts: { url: string; body: Uint8Array }[] = [];
  let now = 1_000_000;
  const reporter = new Reporter({
    config: file,
    faults: new Set(faults),
    node: 'node-1',
    now: () => now,
    pods: { find: (_ns, pod) => Promise.resolve(pod === 'unknown' ? null : facts) },
    post: (url, body) => Promise.resolve(void posts.push({ url, body: Uint8Array.from(body) })),
  });
  return { reporter, posts, move: (ms) => (now += ms) };
}

const resource = (pod: string, namespace = 'shop'): { key: string; value: string | number }[] => [
  { key: 'service.name', value: 'checkout' },
  { key: 'k8s.namespace.name', value: namespace },
  { key: 'k8s.pod.name', value: pod },
  { key: 'k8s.container.name', value: 'app' },
  { key: 'svc.demo.port', value: 8080 },
];

const duration: Metric = {
  name: 'http.server.request.duration',
  description: 'sdk',
  unit: 's',
  data: {
    kind: 'histogram',
    temporality: 'cumulative',
    points: ['1.1', '2'].map((version) => ({
      attributes: [
        { key: 'url.scheme', value: 'http' },
        { key: 'network.protocol.version', value: version },
        { key: 'http.request.method', value: 'GET' },
      ],
      startNs: 5e11,
      timeNs: 9e11,
      noValue: false,
      count: 3,
      sum: 0.5,
      min: 0.1,
      max: 0.3,
      bucketCounts: [1, 2, 0],
      bounds: [0.1, 1],
      exemplars: [],
    })),
  },
};
const scope = { name: 'sdk', version: '1' };
const metrics = [duration, { ...duration, name: 'nodejs.eventloop.delay' }];

test('passes the metrics of a selected service on, with the Kubernetes attributes of its pod', async () => {
  const { reporter, posts } = setUp();
  reporter.metrics({ resources: [{ attributes: resource('checkout-1'), scopes: [{ scope, metrics }] }] });
  await reporter.exportMetrics();
  expect(posts.map((p) => p.url)).toEqual(Array(3).fill('http://agent/v1/metrics'));
  const [empty, data, info] = posts.map((p) => decodeMetricsRequest(p.body));
  expect(empty!.resources).toEqual([{ attributes: [], scopes: [] }]);
  const sent = data!.resources[0]!;
  expect(Object.fromEntries(sent.attributes.map((a) => [a.key, a.value]))).toMatchObject({
    'k8s.namespace.name': 'shop',
    'k8s.pod.name': 'checkout-1',
    'k8s.container.name': 'app',
    'k8s.deployment.name': 'checkout',
    'k8s.replicaset.name': 'checkout-7d9',
    'k8s.node.name': 'node-1',
    'service.name': 'checkout',
  });
  expect(sent.scopes[0]!.metrics.map((m) => m.name)).toEqual(['http.server.request.duration']);
  expect(sent.scopes[0]!.metrics[0]!.data!.points).toMatchObject([
    {
      count: 6,
      sum: 1,
      min: 0.1,
      max: 0.3,
      bounds: [0, 0.1, 1],
      bucketCounts: [0, 2, 4, 0],
      timeNs: 1e12,
      startNs: 5e11,
    },
  ]);
  expect(info!.resources[0]!.attributes).toEqual([]);
  expect(info!.resources[0]!.scopes[0]!.metrics.map((m) => m.name)).toContain('target.info');
});

test.each([
  ['a service that no entry selects', resource('p', 'other')],
  ['a pod whose metadata has not arrived', resource('unknown')],
  ['a sender that does not name its pod', []],
])('sends nothing for %s', async (_what, attributes) => {
  const { reporter, posts } = setUp();
  reporter.metrics({ resources: [{ attributes, scopes: [{ scope, metrics }] }] });
  await reporter.exportMetrics();
  expect(posts).toHaveLength(1);
});

test('stops sending the last points of a service that went silent', async () => {
  const { reporter, posts, move } = setUp();
  reporter.metrics({ resources: [{ attributes: resource('checkout-1'), scopes: [{ scope, metrics }] }] });
  move(5_000);
  await reporter.exportMetrics();
  expect(posts).toHaveLength(3);
  move(6_000);
  await reporter.exportMetrics();
  expect(posts).toHaveLength(4);
});

test('passes spans on in one batch, with the marks of the real exporters', async () => {
  const { reporter, posts } = setUp();
  const span: Span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    parentSpanId: '',
    name: 'GET /',
    kind: 'server',
    startNs: 1n,
    endNs: 2n,
    attributes: [],
    status: 'unset',
    statusMessage: '',
  };
  const second = { ...span, spanId: 'c7ad6b7169203331' };
  for (const one of [span, second])
    reporter.traces({ resources: [{ attributes: resource('checkout-1'), scopes: [{ scope, spans: [one] }] }] });
  await reporter.exportTraces();
  await reporter.exportTraces();
  expect(posts.map((p) => p.url)).toEqual(['http://agent/v1/traces']);
  const { resources } = decodeTracesRequest(posts[0]!.body);
  const marks = resources.map(({ attributes }) => attributes.find(({ key }) => key === 'span.metrics.skip')?.value);
  expect(marks).toEqual([true, true]);
  // The span of a server carries the port that the server listens on.
  const attributes = [{ key: 'server.port', value: 8080 }];
  expect(resources.map(({ scopes }) => scopes[0])).toEqual(
    [span, second].map((one) => ({ scope: { name: '', version: '' }, spans: [{ ...one, attributes }] })),
  );
});

test('every point carries the instance of its sender if the config file enables instances on points', async () => {
  const { reporter, posts } = setUp([], { ...config, instanceOnPoints: true });
  reporter.metrics({
    resources: [{ attributes: resource('a'), scopes: [{ scope: { name: 'sdk', version: '' }, metrics: [duration] }] }],
  });
  await reporter.exportMetrics();
  const points = posts
    .flatMap(({ body }) => decodeMetricsRequest(body).resources)
    .flatMap(({ scopes }) => scopes.flatMap(({ metrics }) => metrics))
    .flatMap(({ name, data }) => (name.startsWith('http.') && data?.kind === 'histogram' ? data.points : []));
  expect(points.length).toBeGreaterThan(0);
  for (const { attributes } of points) {
    expect(attributes).toContainEqual({ key: 'service.instance.id', value: 'shop.a.app' });
  }
});

test('an agent assigns spans to their pod once it has points of the same sender', async () => {
  const { reporter, posts } = setUp([], { ...config, instanceOnPoints: true });
  const attributes = resource('checkout-1');
  reporter.metrics({ resources: [{ attributes, scopes: [{ scope, metrics: [duration] }] }] });
  const identity = nodePods(aPod('shop/checkout-1', { uid: facts.uid, containers: ['app'] }));
  const span = {
    traceId: 'f'.repeat(32),
    spanId: 'a'.repeat(16),
    parentSpanId: '',
    name: 'GET /',
    kind: 'server',
  } as const;
  const times = { startNs: 1n, endNs: 2n, attributes: [], status: 'unset', statusMessage: '' } as const;
  reporter.traces({ resources: [{ attributes, scopes: [{ scope, spans: [{ ...span, ...times }] }] }] });
  await reporter.exportTraces();
  const sent = decodeTracesRequest(posts[0]!.body).resources[0]!.attributes;
  expect(identity.spans(sent)).toMatchObject({ pod: null, unshown: { name: 'checkout-1' } });
  await reporter.exportMetrics();
  const mapper = new SeriesMapper(defaultPolicy('node-1'), identity);
  const sink = { append: () => {}, stale: () => {}, start: () => {}, stored: () => NaN };
  for (const { url, body } of posts) {
    if (url.endsWith('/v1/metrics')) mapper.add(decodeMetricsRequest(body), { wall: 1e6, mono: 0 }, sink);
  }
  expect(identity.spans(sent)).toMatchObject({ pod: { name: 'checkout-1' }, container: 'app', unshown: null });
});

describe('the agent notices the faults of a node', () => {
  const told = async (faults: string[]): Promise<{ attached: number | null; unplaced: number }> => {
    const { reporter, posts } = setUp(faults, { ...config, internalMetrics: true });
    reporter.metrics({ resources: [{ attributes: resource('a'), scopes: [{ scope: sdk, metrics: [duration] }] }] });
    await reporter.exportMetrics();
    const mapper = new SeriesMapper(defaultPolicy('node-1'), nodePods('shop/a'));
    const now = { wall: 1_000_000, mono: 1_000_000 };
    for (const { body } of posts)
      mapper.add(decodeMetricsRequest(body), now, {
        append: () => {},
        stale: () => {},
        start: () => {},
        stored: () => NaN,
      });
    return { attached: attachedProcesses(mapper), unplaced: mapper.unplaced };
  };
  const sdk = { name: 'sdk', version: '' };
  test('without faults, the instrument watches its processes and knows their pods', async () => {
    expect(await told([])).toEqual({ attached: 1, unplaced: 0 });
  });
  test('without kprobes, the instrument runs and watches nothing', async () => {
    expect(await told(['no-kprobes'])).toMatchObject({ attached: 0 });
  });
  test('without metadata, the instrument sends streams whose containers are unknown', async () => {
    const { attached, unplaced } = await told(['no-metadata']);
    expect(attached).toBe(1);
    expect(unplaced).toBeGreaterThan(0);
  });
});
