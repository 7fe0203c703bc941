import { aPod, nodePods } from '../../testing/node-pods.ts';
import type { HistogramPoint, MetricsRequest } from '../otlp/model.ts';
import { SeriesMapper } from './mapper.ts';
import { defaultPolicy } from './policy.ts';

const known = nodePods(aPod('shop/p1', { containers: [] }), aPod('pay/db-0', { containers: [] }));
const t0 = 1_800_000_000_000;
const sink = { append: () => {}, stale: () => {}, start: () => {}, stored: () => NaN };
const moment = (seconds: number): { wall: number; mono: number } => ({
  wall: t0 + seconds * 1_000,
  mono: seconds * 1_000,
});

function setUp(limits: { maxSeriesPerNode: number; maxSeriesPerNamespace: number }, drop: readonly string[] = []) {
  const base = defaultPolicy('n1');
  const dropLabels = new Set([...base.dropLabels, ...drop]);
  const policy = { ...base, dropLabels, limits: { ...base.limits, ...limits } };
  return { mapper: new SeriesMapper(policy, known), policy };
}

/**
 * A histogram of a pod. Its streams differ in `host.id` alone, which is no label, so they feed the same series. The
 * bounds are the whole numbers above `from`.
 */
function histogram(at: number, from: number, bounds: number, stream = from, pod = 'shop.p1.'): MetricsRequest {
  const point: HistogramPoint = {
    attributes: [],
    startNs: t0 * 1e6,
    timeNs: (t0 + at * 1_000) * 1e6,
    noValue: false,
    count: 1,
    sum: 1,
    min: null,
    max: null,
    bucketCounts: [1, ...new Array<number>(bounds).fill(0)],
    bounds: Array.from({ length: bounds }, (_, i) => from + (i + 1) / (bounds + 1)),
    exemplars: [],
  };
  const data = { kind: 'histogram', temporality: 'cumulative', points: [point] } as const;
  const metrics = [{ name: 'h', description: '', unit: 's', data }];
  const attributes = Object.entries({ 'service.instance.id': pod, 'host.id': `${stream}` });
  return {
    resources: [
      {
        attributes: attributes.map(([key, value]) => ({ key, value })),
        scopes: [{ scope: { name: 's', version: '' }, metrics }],
      },
    ],
  };
}

test('histograms of equal labels are limited by their buckets, in their own series and in overflow series', () => {
  const { mapper, policy } = setUp({ maxSeriesPerNode: 1_000, maxSeriesPerNamespace: 100 });
  for (let i = 0; i < 100; i++) mapper.add(histogram(1, i, 30), moment(1), sink);
  const isWithin = (): void => {
    expect(mapper.limits.nodeSeries).toBeGreaterThan(60);
    expect(mapper.limits.nodeSeries).toBeLessThanOrEqual(100);
    expect(mapper.table.size - mapper.limits.nodeSeries).toBeGreaterThan(400);
    expect(mapper.table.size - mapper.limits.nodeSeries).toBeLessThanOrEqual(500);
  };
  isWithin();
  expect(mapper.limitHits.namespace).toBeGreaterThan(2_000);
  mapper.setPolicy(policy, moment(2), sink);
  isWithin();
  mapper.add(histogram(3, 0, 10, 0, 'pay.db-0.'), moment(3), sink);
  expect(mapper.limits.nodeSeries).toBeGreaterThan(70);
  mapper.expire(moment(400), sink);
  expect([mapper.table.size, mapper.limits.nodeSeries]).toEqual([0, 0]);
});

test('overflow series of the node that two namespaces share stay within the limit of the one that they count for', () => {
  const { mapper, policy } = setUp({ maxSeriesPerNode: 60, maxSeriesPerNamespace: 100 });
  for (let i = 0; i < 2; i++) mapper.add(histogram(1, i, 30), moment(1), sink);
  for (let i = 2; i < 100; i++) mapper.add(histogram(1, i, 30, i, 'pay.db-0.'), moment(1), sink);
  const isWithin = (): void => {
    expect(mapper.limits.nodeSeries).toBe(33);
    expect(mapper.table.size - mapper.limits.nodeSeries).toBeGreaterThan(400);
    expect(mapper.table.size - mapper.limits.nodeSeries).toBeLessThanOrEqual(500);
  };
  isWithin();
  mapper.setPolicy(policy, moment(2), sink);
  isWithin();
});

test('series that two namespaces share, as their labels lack it, stay within the limit of the one that they count for', () => {
  const limits = { maxSeriesPerNode: 10_000, maxSeriesPerNamespace: 200 };
  const { mapper, policy } = setUp(limits, ['k8s_namespace_name', 'k8s_pod_name']);
  mapper.add(histogram(1, 0, 30), moment(1), sink);
  for (let i = 1; i < 100; i++) mapper.add(histogram(1, i, 30, i, 'pay.db-0.'), moment(1), sink);
  const isWithin = (): void => {
    expect(mapper.limits.nodeSeries).toBeGreaterThan(160);
    expect(mapper.limits.nodeSeries).toBeLessThanOrEqual(200);
  };
  isWithin();
  mapper.setPolicy(policy, moment(2), sink);
  isWithin();
});

test('a stream whose series all exist is bound to them on a node that is full', () => {
  const { mapper } = setUp({ maxSeriesPerNode: 1_000, maxSeriesPerNamespace: 33 });
  mapper.add(histogram(1, 0, 30), moment(1), sink);
  expect(mapper.limits.nodeSeries).toBe(33);
  mapper.add(histogram(1, 0, 30, 1), moment(1), sink);
  expect([mapper.table.size, mapper.limitHits.namespace]).toEqual([33, 0]);
});

/** Seconds of CPU time of this process that `work` takes. */
function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

test.each([
  ['many histograms of equal labels, each with bounds of its own', (i: number) => histogram(1, i, 4_096)],
  ['one histogram that has new bounds at every point', (i: number) => histogram(1 + i, i, 4_096, 0)],
])('%s take time in proportion to their buckets', (_what, request) => {
  const { mapper } = setUp({ maxSeriesPerNode: 1_000_000, maxSeriesPerNamespace: 1_000_000 });
  const requests = Array.from({ length: 25 }, (_, i) => request(i));
  // A comparison of each bucket with each other takes many times as long.
  expect(cpuSeconds(() => requests.forEach((r, i) => mapper.add(r, moment(1 + i), sink)))).toBeLessThan(4);
  expect(mapper.table.size).toBeGreaterThan(4_096);
});
