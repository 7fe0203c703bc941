import { describedResource } from '../../../api/described-resources.ts';
import { judgeMetric, parse } from '../../../promql/index.ts';
import { combinedQuery } from '../values/evaluate.ts';
import { isPartitionedBy } from '../values/metric-service.ts';
import { declaredMetrics, monitorProvider, type MonitorLike } from './monitor-provider.ts';
import { presetProvider } from './preset-provider.ts';

type Metric = { name: string; resource: string; expr?: string; preset?: 'RequestsPerSecond'; window?: string };
const monitor = (name: string, metric: Metric, spec: object = {}): MonitorLike =>
  ({
    metadata: { name, namespace: 'shop', creationTimestamp: `2026-01-01T00:00:0${name.length}Z` },
    spec: { mode: 'Capture', selector: {}, autoscaling: { metrics: [metric] }, ...spec },
  }) as MonitorLike;
const pods = describedResource('pods')!;
const ask = { resource: pods, namespace: 'shop', metric: 'rps', matchers: [], names: undefined };
const rps = { name: 'rps', resource: 'pods', preset: 'RequestsPerSecond' as const };

test('each selector of an expression reads only series of the namespace of its monitor', () => {
  const expr = 'sum by (k8s_pod_name) (rate(a{x="y"}[2m])) / on (k8s_pod_name) max_over_time(b[1h:1m])';
  const provider = monitorProvider(() => declaredMetrics([monitor('m', { name: 'rps', resource: 'pods', expr })]));
  const query = provider.find({ ...ask, matchers: [{ type: '=', name: 'verb', value: 'GET' }] })!;
  expect(query.value).toBe(
    'sum by (k8s_pod_name) (rate(a{k8s_namespace_name="shop",verb="GET",x="y"}[2m])) / on (k8s_pod_name) max_over_time(b{k8s_namespace_name="shop",verb="GET"}[1h:1m])',
  );
  expect(query.times).toHaveLength(2);
  expect(provider.find({ ...ask, namespace: 'other' })).toBeUndefined();
});

test.each([1, 46, 47, 50])('an expression of %d selectors that a monitor may have can be evaluated', (count) => {
  const expr = Array.from({ length: count }, (_, i) => `sum by (k8s_pod_name) (a${i})`).join(' + ');
  expect(judgeMetric(expr)).toBeUndefined();
  const provider = monitorProvider(() => declaredMetrics([monitor('m', { name: 'rps', resource: 'pods', expr })]));
  const text = combinedQuery(provider.find(ask)!);
  expect(() => parse(text)).not.toThrow();
  expect(text.includes('timestamp(')).toBe(count <= 46);
});

test('a duration that is used as a number keeps its value', () => {
  const expr = 'x > 2002ms';
  const provider = monitorProvider(() => declaredMetrics([monitor('m', { name: 'rps', resource: 'pods', expr })]));
  expect(provider.find(ask)!.value).toBe('x{k8s_namespace_name="shop"} > 2s2ms');
});

test('the matchers of an expression keep their order, on which the labels of absent() depend', () => {
  const expr = 'absent(a{job=~"x.*",job="x"})';
  const provider = monitorProvider(() => declaredMetrics([monitor('m', { name: 'rps', resource: 'pods', expr })]));
  expect(provider.find(ask)!.value).toBe('absent(a{k8s_namespace_name="shop",job=~"x.*",job="x"})');
});

test('if two monitors declare the same metric for a kind, the one of higher priority counts', () => {
  const declared = declaredMetrics([
    monitor('weak', { ...rps, window: '5m' }),
    monitor('strong', { ...rps, window: '2m' }, { priority: 10 }),
  ]);
  expect(declared.map(({ metric }) => metric.window)).toEqual(['2m']);
});

test('a suspended or excluding monitor offers no metric; a refused one offers those of its last accepted spec', () => {
  const refused = {
    ...monitor('refused', { ...rps, name: 'new' }),
    status: {
      conditions: [{ type: 'Accepted', status: 'False', reason: 'Invalid' }],
      configHash: 'sha256:1',
      lastAcceptedSpec: monitor('refused', { ...rps, name: 'old' }).spec,
    },
  } as unknown as MonitorLike;
  const declared = declaredMetrics([
    monitor('s', rps, { suspend: true }),
    monitor('x', rps, { mode: 'Exclude' }),
    refused,
  ]);
  expect(declared.map(({ metric }) => metric.name)).toEqual(['old']);
});

test('a monitor of which nothing is in force offers no metric, and takes no name from an accepted one', () => {
  const strong = monitor('strong', { ...rps, window: '2m' }, { priority: 10 });
  const forbidden = {
    ...strong,
    status: {
      conditions: [{ type: 'Accepted', status: 'False', reason: 'NamespaceNotAllowed' }],
      lastAcceptedSpec: strong.spec,
    },
  } as unknown as MonitorLike;
  const declared = declaredMetrics([forbidden, monitor('weak', { ...rps, window: '5m' })]);
  expect(declared.map(({ metric }) => metric.window)).toEqual(['5m']);
});

test('a last accepted spec that the schema does not admit offers no metric, and keeps no other from being offered', () => {
  const refused = {
    ...monitor('refused', rps),
    status: {
      conditions: [{ type: 'Accepted', status: 'False' }],
      configHash: 'sha256:1',
      lastAcceptedSpec: { autoscaling: { metrics: [null] } },
    },
  } as unknown as MonitorLike;
  expect(declaredMetrics([refused, monitor('m', rps)]).map(({ metric }) => metric.name)).toEqual([rps.name]);
});

test.each<[string, Metric, RegExp]>([
  ['an expression that does not parse', { name: 'rps', resource: 'pods', expr: 'sum(' }, /expr/],
  ['a range vector', { name: 'rps', resource: 'pods', expr: 'a[5m]' }, /range vector/],
  ['a kind that series do not name', { ...rps, resource: 'widgets.shop' }, /no captured series/],
  ['nodes, which are in no namespace', { ...rps, resource: 'nodes' }, /one namespace/],
])('no metric is offered for %s, and the reason is reported', (_, metric, reason) => {
  const refused: string[] = [];
  expect(declaredMetrics([monitor('m', metric)], (name, why) => refused.push(`${name}: ${why}`))).toEqual([]);
  expect(refused.join()).toMatch(reason);
});

test.each<[string, string]>([
  [
    'http_requests_per_second',
    'sum by (k8s_pod_name) (rate(http_server_request_duration_count{k8s_namespace_name="shop",k8s_pod_name!=""}[60000ms]))',
  ],
  [
    'http_request_duration_p99_seconds',
    'histogram_quantile(0.99, sum by (k8s_pod_name, le) (rate(http_server_request_duration_bucket{k8s_namespace_name="shop",k8s_pod_name!=""}[60000ms])))',
  ],
])('the preset %s is %s', (metric, text) => {
  expect(presetProvider.find({ ...ask, metric })!.value).toBe(text);
});

test('every preset parses for every kind', () => {
  const names = presetProvider.names();
  expect(names).toHaveLength(90);
  for (const { resource, metric } of names) {
    const namespace = resource.ref.namespaced ? 'shop' : undefined;
    const { value } = presetProvider.find({ resource, namespace, metric, matchers: [], names: undefined })!;
    expect(isPartitionedBy(value, resource.label)).toBe(!metric.startsWith('network_'));
  }
});

test.each<[string, boolean]>([
  ['sum by (pod) (rate(a[1m]))', true],
  ['a', true],
  ['sum(a)', false],
  ['sum without (pod) (a)', false],
  ['sum without (le) (a)', true],
  ['a / on (pod) b', true],
  ['a / on (node) group_left b', false],
  ['a / ignoring (pod) group_left b', false],
  ['a / scalar(sum(b))', false],
  ['a * 2', true],
])('whether %s keeps pods apart: %p', (expr, apart) => {
  expect(isPartitionedBy(expr, 'pod')).toBe(apart);
});
