import { admitMetrics } from './admit.ts';
import type { HistogramPoint, Metric, MetricData, MetricsRequest, NumberPoint } from './model.ts';

const now = 1_800_000_000_000;
const times = { startNs: 0, timeNs: now * 1e6, attributes: [], noValue: false, exemplars: [] };
const number = (value: number, timeNs = now * 1e6): NumberPoint => ({ ...times, timeNs, value });
const histogram = (change: Partial<HistogramPoint>): HistogramPoint => ({
  ...times,
  count: 1,
  sum: 1,
  min: null,
  max: null,
  bucketCounts: [1, 0],
  bounds: [1],
  ...change,
});
const request = (data: MetricData): MetricsRequest => {
  const metric: Metric = { name: 'm', description: '', unit: '', data };
  return { resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics: [metric] }] }] };
};
const gauge = (...points: NumberPoint[]): MetricData => ({ kind: 'gauge', points });
const sum = (monotonic: boolean, ...points: NumberPoint[]): MetricData => ({
  kind: 'sum',
  temporality: 'cumulative',
  monotonic,
  points,
});
const histograms = (point: HistogramPoint): MetricData => ({
  kind: 'histogram',
  temporality: 'cumulative',
  points: [point],
});
const summaries = (sum: number, count = 1): MetricData => ({
  kind: 'summary',
  points: [{ ...times, count, sum, quantiles: [{ quantile: 0.5, value: NaN }] }],
});
const exponential = (counts: readonly number[]): MetricData => {
  const buckets = { positive: { offset: 0, counts }, negative: { offset: 0, counts: [] }, zeroCount: 0 };
  const rest = { count: 1, sum: 1, min: null, max: null, scale: 0, zeroThreshold: 0 };
  return { kind: 'exponential', temporality: 'cumulative', points: [{ ...times, ...rest, ...buckets }] };
};

test('a valid request is taken unchanged', () => {
  const good = request(gauge(number(1), number(NaN)));
  expect(admitMetrics(good, now)).toEqual({ request: good, rejected: 0, reason: '' });
});

test('a point without a time gets the current time', () => {
  const { request: taken } = admitMetrics(request(gauge(number(1, 0))), now);
  expect(taken.resources[0]!.scopes[0]!.metrics[0]!.data!.points[0]!.timeNs).toBe(now * 1e6);
});

test.each([
  ['a time in 1970', gauge(number(1, 1e9)), 'm: time_unix_nano is more than an hour old'],
  ['a time in 2200', gauge(number(1, 7.26e18)), 'm: time_unix_nano is more than 5 minutes ahead'],
  ['a counter below zero', sum(true, number(-1)), 'm: a monotonic sum below zero'],
  ['a sum that is not a number', sum(false, number(NaN)), 'm: a sum that is not a finite number'],
  ['counts that do not fit their bounds', histograms(histogram({ bounds: [1, 2] })), 'm: 2 bucket_counts for 2'],
  ['bounds without counts', histograms(histogram({ bucketCounts: [] })), 'm: explicit_bounds without bucket_counts'],
  [
    'bounds that fall',
    histograms(histogram({ bounds: [2, 1], bucketCounts: [0, 0, 1] })),
    'm: explicit_bounds are not',
  ],
  ['a bound that is NaN', histograms(histogram({ bounds: [NaN] })), 'm: explicit_bounds are not finite'],
  ['an infinite sum', histograms(histogram({ sum: Infinity })), 'm: sum is not a finite number'],
  ['a sum so large that some of them are infinite', sum(false, number(-1.7e308)), 'm: a sum that is beyond 1e+100'],
  ['such a sum of a histogram', histograms(histogram({ sum: 1.7e308 })), 'm: sum is beyond 1e+100'],
  ['an infinite sum of a summary', summaries(-Infinity), 'm: sum is not a finite number'],
  ['a count that none can reach', histograms(histogram({ count: 2 ** 63 })), 'm: count is beyond 1e+15'],
  ['such counts of its buckets', histograms(histogram({ bucketCounts: [6e14, 6e14] })), 'm: bucket_counts are beyond'],
  ['such a count of a summary', summaries(1, 2e15), 'm: count is beyond 1e+15'],
  ['such counts of exponential buckets', exponential([6e14, 6e14]), 'm: bucket_counts are beyond 1e+15'],
])('a point with %s is left out, with the reason', (_what, data, reason) => {
  const admitted = admitMetrics(request(data), now);
  expect(admitted.rejected).toBe(1);
  expect(admitted.reason).toContain(reason);
  expect(admitted.request.resources[0]!.scopes[0]!.metrics[0]!.data!.points).toEqual([]);
});

test('one bad point does not drop the others', () => {
  const admitted = admitMetrics(request(sum(true, number(1), number(-1), number(2))), now);
  expect(admitted.rejected).toBe(1);
  expect(admitted.request.resources[0]!.scopes[0]!.metrics[0]!.data!.points).toHaveLength(2);
});
