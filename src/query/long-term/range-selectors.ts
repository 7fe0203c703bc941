import { quote, QueryError, takeMemory } from '../../promql/index.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { sampleBytes, type ReadSeries, type SampleBudget } from '../fanout/merge/series-collector.ts';

const numbers: Readonly<Record<string, number>> = { NaN: NaN, '+Inf': Infinity, '-Inf': -Infinity };

/** The request that gives a selector's raw samples through the query API, or its series where only those are wanted. */
export function rangeQuery({ matchers, startMs, endMs, hints }: ReadQuery): { path: string; form: string } {
  const selector = `{${matchers.map(({ name, type, value }) => `${quote(name)}${type}${quote(value)}`).join(',')}}`;
  const seconds = (ms: number): string => (ms / 1000).toFixed(3);
  if (hints?.func === 'series') {
    const form = new URLSearchParams({ 'match[]': selector, start: seconds(startMs), end: seconds(endMs) });
    return { path: '/api/v1/series', form: form.toString() };
  }
  // A range is open at its left end: one millisecond more takes the first sample in.
  const form = new URLSearchParams({ query: `${selector}[${endMs - startMs + 1}ms]`, time: seconds(endMs) });
  return { path: '/api/v1/query', form: form.toString() };
}

/** Reads the answer. Errors: AgentFailure `protocol`; QueryError when the budget is spent. */
export function rangeSeries(body: unknown, { startMs, endMs }: ReadQuery, budget: SampleBudget): ReadSeries[] {
  const { status, data } = (body ?? {}) as { status?: unknown; data?: unknown };
  if (status !== 'success') throw new AgentFailure('protocol', 'the answer is no success');
  if (Array.isArray(data)) {
    return data.map((labels) => ({ labels: labelsFromObject(labels as Record<string, string>), ...nothing() }));
  }
  const { resultType, result } = (data ?? {}) as { resultType?: unknown; result?: unknown };
  if (resultType !== 'matrix' || !Array.isArray(result)) throw new AgentFailure('protocol', 'the answer is no matrix');
  return result.map((one) => {
    const { metric, values } = one as { metric: Record<string, string>; values?: [number, string][] };
    if (values === undefined) throw new AgentFailure('protocol', 'a series has no float samples');
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

function nothing(): { timestamps: Float64Array; values: Float64Array } {
  return { timestamps: new Float64Array(0), values: new Float64Array(0) };
}
