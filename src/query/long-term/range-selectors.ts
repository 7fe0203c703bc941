import { compileMatcher, type Matcher } from '../../promql/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import { selectorText } from '../custom-metrics/providers/selectors.ts';

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

/** Stores refuse a selector that matches a series without labels. Each of their series has a name. */
const anyName: Matcher = { type: '!=', name: '__name__', value: '' };

/** The request for a selector's raw samples through the query API, or for the labels of its series alone. */
export function rangeQuery({ matchers, startMs, endMs, hints }: ReadQuery): { path: string; form: string } {
  // Classic names are written without quotes, because Prometheus 2 does not accept quoted names.
  const isRefused = matchers.every((matcher) => compileMatcher(matcher).test(''));
  const selector = selectorText('', isRefused ? [...matchers, anyName] : matchers);
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
