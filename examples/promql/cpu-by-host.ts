/**
 * PromQL over data of one's own: no server, no files, no network.
 *   node examples/promql/cpu-by-host.ts
 * Two hosts' counters lie in plain arrays; the engine reads them through `SeriesSource`, answers an instant and a range
 * query, points at a mistake by line and column, and explains how the query would be split over nodes.
 */
import {
  Engine,
  QueryError,
  compileMatcher,
  explain,
  labelsText,
  matchesAll,
  parse,
  planQuery,
  sortedLabels,
  type SelectRequest,
  type Series,
  type SeriesSource,
} from 'svc-operator/promql';

const minute = 60_000;
const start = Date.UTC(2026, 0, 1);
const timestamps = Float64Array.from({ length: 11 }, (_, i) => start + i * minute);

/** Seconds of processor time of one core, growing by `share` of a minute each minute. */
function cpuSeconds(host: string, core: string, share: number): Series {
  const labels = sortedLabels(Object.entries({ __name__: 'cpu_seconds_total', host, core }));
  return { labels, timestamps, values: timestamps.map((_, i) => i * 60 * share) };
}

const series = [cpuSeconds('a', '0', 0.5), cpuSeconds('a', '1', 0.25), cpuSeconds('b', '0', 0.125)];

/** All a source has to do: hand over every series that matches. Samples outside of the asked times do no harm. */
const source: SeriesSource = {
  select({ matchers }: SelectRequest) {
    const compiled = matchers.map(compileMatcher);
    return Promise.resolve({ series: series.filter(({ labels }) => matchesAll(compiled, labels)) });
  },
};

const engine = new Engine({ timeoutMs: 10_000, monotonic: () => performance.now(), maxSamples: 1_000_000 });
const query = 'sum by (host) (rate(cpu_seconds_total[5m]))';
const end = start + 10 * minute;

const now = await engine.instant(query, end, { source });
if (now.value.type === 'vector') {
  for (const { labels, value } of now.value.elements) console.log(`${labelsText(labels)} ${value}`);
}

const range = await engine.range(query, start + 5 * minute, end, minute, { source });
if (range.value.type === 'matrix')
  console.log(`${range.value.series.length} series over ${range.value.series[0]!.values.length} steps`);

try {
  await engine.instant('sum by (host) (rate(cpu_seconds_total))', end, { source });
} catch (error) {
  if (!(error instanceof QueryError)) throw error;
  console.log(`${error.errorType}: ${error.message}`);
}

console.log(explain(planQuery(parse(query), { partitionLabel: 'host' })));
console.log(explain(planQuery(parse('avg(rate(cpu_seconds_total[5m]))'), { partitionLabel: 'host' })));
