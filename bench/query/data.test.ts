import { agentSeries } from './data.ts';

const valueOf = (labels: readonly (readonly [string, string])[], name: string): string | undefined =>
  labels.find(([own]) => own === name)?.[1];

test('no counter falls, and in every sample the last cumulative bucket of a pod equals its count', () => {
  const pods = new Map<string, { buckets: Float64Array[]; count?: Float64Array }>();
  const series = agentSeries(20 * 16);
  expect(series).toHaveLength(1 + 20 * 16);
  for (const { labels, values } of series) {
    expect(values.every((value, k) => k === 0 || value >= values[k - 1]!)).toBe(true);
    const pod = valueOf(labels, 'k8s_pod_name') ?? '';
    const found = pods.get(pod) ?? { buckets: [] };
    pods.set(pod, found);
    const name = valueOf(labels, '__name__');
    if (name === 'http_server_request_duration_bucket') found.buckets.push(values);
    if (name === 'http_server_request_duration_count') found.count = values;
  }
  const histograms = [...pods.values()].filter(({ buckets }) => buckets.length > 0);
  expect(histograms).toHaveLength(20);
  for (const { buckets, count } of histograms) {
    expect(buckets).toHaveLength(11);
    // In the order of their bounds; the last is +Inf.
    for (const [i, bucket] of buckets.entries()) {
      expect(bucket.every((value, k) => i === 0 || value >= buckets[i - 1]![k]!)).toBe(true);
    }
    expect(buckets.at(-1)).toEqual(count);
  }
});
