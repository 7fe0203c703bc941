import { isPlainLabelName, quote, QueryError, takeMemory } from '../../promql/index.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { sampleBytes, type ReadSeries, type SampleBudget } from '../fanout/merge/series-collector.ts';
import { briefly } from './long-term-store.ts';

/**
 * What a store has to be told to give all of its samples as they came, or to say that it did not. Thanos: no answer
 * without one of its stores (one whose connection is refused it only warns of), replicas as one, no downsampled data.
 * VictoriaMetrics: no partial answer. Others take no notice.
 */
const wholeOrNothing = {
  partial_response: 'false',
  dedup: 'true',
  max_source_resolution: '0s',
  deny_partial_response: '1',
};

const numbers: Readonly<Record<string, number>> = { NaN: NaN, '+Inf': Infinity, '-Inf': -Infinity };

/** The request that gives a selector's raw samples through the query API, or its series where only those are wanted. */
export function rangeQuery({ matchers, startMs, endMs, hints }: ReadQuery): { path: string; form: string } {
  const selector = `{${matchers.map(({ name, type, value }) => `${nameText(name)}${type}${quote(value)}`).join(',')}}`;
  const seconds = (ms: number): string => (ms / 1000).toFixed(3);
  if (hints?.func === 'series') {
    const form = new URLSearchParams({
      'match[]': selector,
      start: seconds(startMs),
      end: seconds(endMs),
      ...wholeOrNothing,
    });
    return { path: '/api/v1/series', form: form.toString() };
  }
  // A range is open at its left end: one millisecond more takes the first sample in.
  const form = new URLSearchParams({
    query: `${selector}[${endMs - startMs + 1}ms]`,
    time: seconds(endMs),
    ...wholeOrNothing,
  });
  return { path: '/api/v1/query', form: form.toString() };
}

/** Reads the answer. Errors: AgentFailure `protocol`; QueryError when the budget is spent. */
export function rangeSeries(body: unknown, { startMs, endMs }: ReadQuery, budget: SampleBudget): ReadSeries[] {
  const { status, data, warnings, isPartial } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (status !== 'success') throw new AgentFailure('protocol', 'the answer is no success');
  // Neither selectors nor lists of series are warned of but for what the store could not read.
  if (isPartial === true || (Array.isArray(warnings) && warnings.length > 0)) {
    const text = Array.isArray(warnings) ? `: ${briefly(warnings.join('; '))}` : '';
    throw new AgentFailure('protocol', `the answer is not whole${text}`);
  }
  if (Array.isArray(data)) {
    return data.map((labels) => ({ labels: labelsFromObject(labels as Record<string, string>), ...nothing() }));
  }
  const { resultType, result } = (data ?? {}) as { resultType?: unknown; result?: unknown };
  if (resultType !== 'matrix' || !Array.isArray(result)) throw new AgentFailure('protocol', 'the answer is no matrix');
  return result.map((one) => {
    const { metric, values, histograms } = one as {
      metric: Record<string, string>;
      values?: [number, string][];
      histograms?: unknown;
    };
    if (values === undefined || histograms !== undefined)
      throw new AgentFailure('protocol', 'a series has native histograms, which only remote read gives');
    budget.left -= values.length;
    if (budget.left < 0) {
      const message = 'query processing would load too many samples into memory in query execution';
      throw new QueryError('execution', message);
    }
    takeMemory(budget.memory, values.length * sampleBytes);
    const inside = values.filter(([t]) => t * 1000 >= startMs - 0.5 && t * 1000 <= endMs + 0.5);
    return {
      labels: labelsFromObject(metric),
      timestamps: Float64Array.from(inside, ([t]) => Math.round(t * 1000)),
      values: Float64Array.from(inside, ([, v]) => numbers[v] ?? Number(v)),
    };
  });
}

/** Names of the classic form stand without quotes, which Prometheus 2 does not know there. */
function nameText(name: string): string {
  return isPlainLabelName(name) ? name : quote(name);
}

function nothing(): { timestamps: Float64Array; values: Float64Array } {
  return { timestamps: new Float64Array(0), values: new Float64Array(0) };
}
