import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { labelsFromObject } from '../../src/tsdb/index.ts';
import { startPeer } from '../prometheus/server.ts';
import type { Peer } from '../prometheus/server.ts';
import { remoteWrite } from '../prometheus/remote-write.ts';

/** `stats` counts the samples of a query as a real Prometheus does, whichever way the query is executed. */

const now = Math.floor(Date.now() / 60_000) * 60_000;
const nodes = ['node-1', 'node-2', 'node-3'];
const ways = ['', 'agg', 'series', 'off'];
let peer: Peer;
let stage: QueryStage;

beforeAll(async () => {
  peer = await startPeer({ features: ['promql-experimental-functions', 'promql-per-step-stats'] });
  stage = await startQueryStage({ nodes });
  const series: Parameters<typeof remoteWrite>[1][number][] = [];
  for (const [i, node] of nodes.entries()) {
    const put = (labels: Record<string, string>, has: (k: number) => boolean): void => {
      const samples = Array.from({ length: 121 }, (_, k) => ({ time: now - (120 - k) * 15_000, value: k * (i + 1) }))
        .filter((_, k) => has(k))
        // Each node has its samples at times of its own.
        .map(({ time, value }) => ({ time: time + i * 1_700, value }))
        .filter(({ time }) => time <= now);
      for (const { time, value } of samples) stage.cluster.append(node, labels, time, value);
      series.push({ labels: labelsFromObject({ ...labels, k8s_node_name: node }), samples });
    };
    put({ __name__: 'svc_agent_up' }, () => true);
    put({ __name__: 'requests_count', service_name: 'shop' }, (k) => k % 7 !== 3);
    put({ __name__: 'requests_count', service_name: 'late' }, (k) => k > 80 + i);
    put({ __name__: 'requests_count', service_name: 'gone' }, (k) => k < 60);
    for (const le of ['0.1', '1', '+Inf']) put({ __name__: 'requests_bucket', le }, (k) => k % 3 === 0);
  }
  await remoteWrite(peer.url, series);
}, 120_000);
afterAll(async () => {
  await peer?.stop();
  await stage?.close();
});

type Timings = Record<
  'evalTotalTime' | 'resultSortTime' | 'queryPreparationTime' | 'innerEvalTime' | 'execQueueTime' | 'execTotalTime',
  number
>;

interface Told {
  readonly samples: Record<string, unknown>;
  readonly timings: Timings;
}

const told = (text: string): Told => {
  const { data } = JSON.parse(text) as { data: { stats: Told } };
  return data.stats;
};

/** Checks that no part of the time is negative, and that the parts add up to no more than the whole (with rounding). */
function checkTimings(timings: Timings): void {
  const { evalTotalTime, resultSortTime, queryPreparationTime, innerEvalTime, execQueueTime, execTotalTime } = timings;
  for (const one of [resultSortTime, innerEvalTime, execQueueTime]) expect(one).toBeGreaterThanOrEqual(0);
  expect(queryPreparationTime).toBeGreaterThan(0);
  expect(queryPreparationTime + innerEvalTime + resultSortTime).toBeLessThanOrEqual(evalTotalTime + 1e-9);
  expect(execQueueTime + evalTotalTime).toBeLessThanOrEqual(execTotalTime + 1e-9);
}

/** Compares all counts of both servers except `peakSamples`: each server holds samples in its own way. */
async function compare(path: string, params: Record<string, string>): Promise<void> {
  const theirs = told(await (await fetch(`${peer.url}${path}?${new URLSearchParams(params)}`)).text());
  for (const way of ways) {
    const headers: Record<string, string> = way === '' ? {} : { 'x-svc-pushdown': way };
    const ours = told((await stage.ask(path, params, { headers })).text);
    const { peakSamples, ...samples } = ours.samples;
    const { peakSamples: theirPeak, ...model } = theirs.samples;
    expect([way, samples]).toEqual([way, model]);
    expect([typeof peakSamples, Object.keys(ours.timings)]).toEqual([typeof theirPeak, Object.keys(theirs.timings)]);
    checkTimings(ours.timings);
  }
}

test('the queries of this file have samples to count', async () => {
  const params = { query: 'rate(requests_count[5m])', start: String(now / 1000 - 120), end: String(now / 1000) };
  const { text } = await stage.ask('/api/v1/query_range', { ...params, step: '60', stats: 'all' });
  const { samples } = told(text);
  expect(samples['totalQueryableSamplesPerStep']).toHaveLength(3);
  expect(samples['totalQueryableSamples']).toBeGreaterThan(200);
  expect(samples['samplesRead']).toBeLessThan(samples['totalQueryableSamples'] as number);
});

const queries = [
  ...[
    'svc_agent_up',
    'sum(svc_agent_up)',
    'requests_count',
    '{__name__=~"requests_count|svc_agent_up"}',
    '1',
    'time()',
  ],
  ...['requests_count offset 3m', `requests_count @ ${now / 1000 - 300}`, 'timestamp(requests_count)', 'none', '"s"'],
  ...['rate(requests_count[5m])', 'sum by (service_name) (rate(requests_count[90s]))', 'rate(requests_count[10s])'],
  ...['rate({__name__=~"requests_count|svc_agent_up"}[5m]) * 0', 'rate(requests_count[5m] offset 4m)'],
  ...['avg_over_time(requests_count[1h])', 'quantile_over_time(0.5, requests_count[3m])', 'absent_over_time(none[5m])'],
  `rate(requests_count[5m] @ ${now / 1000 - 600})`,
  `predict_linear(requests_count[5m] @ ${now / 1000 - 600}, 60)`,
  `timestamp(requests_count @ ${now / 1000 - 600})`,
  'rate(requests_count[5m] @ end()) + rate(requests_count[5m] @ start())',
  'histogram_quantile(0.9, sum by (le) (rate(requests_bucket[5m])))',
  'topk(scalar(sum(svc_agent_up)), requests_count)',
  'sum(requests_count) / on() sum(svc_agent_up)',
  'requests_count and on (k8s_node_name) svc_agent_up unless requests_count{service_name="late"}',
  'max_over_time(requests_count[10m:1m])',
  'max_over_time(sum(rate(requests_count[2m]))[10m:1m])',
  'max_over_time(sum(rate(requests_count[2m]))[30s:10s])',
  'max_over_time(rate(requests_count[2m])[10m:])',
  'max_over_time((requests_count + requests_count)[5m:30s] offset 2m)',
  `max_over_time(requests_count[5m:30s] @ ${now / 1000 - 200})`,
  `max_over_time(rate(requests_count[1m] @ ${now / 1000 - 200})[5m:30s])`,
  'sum_over_time(max_over_time(rate(requests_count[1m])[3m:20s])[5m:45s])',
  'label_replace(requests_count, "a", "$1", "service_name", "(.*)")',
  'clamp_max(-requests_count, scalar(svc_agent_up{k8s_node_name="node-1"}))',
  'absent(none) or vector(1)',
  'count_values("v", svc_agent_up)',
  'max(rate(requests_count{k8s_node_name="node-1"}[5m])) or absent(svc_agent_up{k8s_node_name="node-2"})',
  'topk(1, rate(requests_count{k8s_node_name="node-1"}[5m]))',
];
const ranges = ['requests_count[5m]', 'requests_count[5m:30s]', 'rate(requests_count[2m])[5m:30s]'];

test.each([...queries, ...ranges])('an instant query counts as Prometheus does: %s', async (query) => {
  await compare('/api/v1/query', { query, time: String(now / 1000), stats: 'all' });
});

test('an instant query counts as Prometheus does at a fraction of a second, and without counts per step', async () => {
  const query = 'rate(requests_count[2m])';
  await compare('/api/v1/query', { query, time: String(now / 1000 - 90.25), stats: 'all' });
  await compare('/api/v1/query', { query, time: String(now / 1000), stats: 'true' });
});

test.each(queries.filter((query) => query !== '"s"'))('a range query counts as Prometheus does: %s', async (query) => {
  const start = String(now / 1000 - 1_200);
  // A step shorter than most windows, and one longer than most.
  for (const step of ['40', '400']) {
    await compare('/api/v1/query_range', { query, start, end: String(now / 1000 + 100), step, stats: 'all' });
  }
});
