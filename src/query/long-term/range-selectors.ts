import { takeMemory } from '../../promql/index.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { sampleBytes, takeSamples, type ReadSeries, type SampleBudget } from '../fanout/merge/series-collector.ts';
import { selectorText } from '../custom-metrics/providers/selectors.ts';
import { briefly } from './long-term-store.ts';

/**
 * Parameters that make a store return all of its samples unchanged, or report that it did not. Thanos: an error when
 * one of its stores does not answer (for a refused connection it only warns), replicas merged, no downsampled data.
 * VictoriaMetrics: no partial answer. Other stores ignore them.
 */
const wholeOrNothing = {
  partial_response: 'false',
  dedup: 'true',
  max_source_resolution: '0s',
  deny_partial_response: '1',
};

const numbers: Readonly<Record<string, number>> = { NaN: NaN, '+Inf': Infinity, '-Inf': -Infinity };

/** The request for a selector's raw samples through the query API, or for the labels of its series alone. */
export function rangeQuery({ matchers, startMs, endMs, hints }: ReadQuery): { path: string; form: string } {
  // Classic names are written without quotes, because Prometheus 2 does not accept quoted names.
  const selector = selectorText('', matchers);
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
  // A range is left-open: one millisecond more includes the first sample.
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
  // Selectors and lists of series cause no warnings except for data that the store could not read.
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
    takeSamples(budget, values.length);
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
