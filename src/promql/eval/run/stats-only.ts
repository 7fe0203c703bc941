import { emptyHistogram } from '../../histogram/arithmetic.ts';
import { detectReset } from '../../histogram/reset.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { childrenOf, type Expr, type VectorSelector } from '../../parser/ast.ts';
import type { RawSeries, SelectedSeries } from '../select/raw-series.ts';

const statsFunctions = new Set(['histogram_count', 'histogram_sum', 'histogram_avg']);
const bucketFunctions = new Set([
  'histogram_quantile',
  'histogram_quantiles',
  'histogram_fraction',
  'histogram_stddev',
  'histogram_stdvar',
]);

/**
 * The selectors whose histograms are only used for count and sum. For these, each counter-reset hint that is unknown is
 * decided during reading, by comparing with the previous sample.
 */
export function statsOnlySelectors(expr: Expr): Set<VectorSelector> {
  const found = new Set<VectorSelector>();
  visit(expr, false, found);
  return found;
}

/**
 * True for an expression that needs buckets, and for a subquery, whose neighbouring samples are not neighbours in the
 * store: the selectors below such an expression are read completely.
 */
function needsAll(expr: Expr): boolean {
  if (expr.kind === 'call') return bucketFunctions.has(expr.func.name);
  return expr.kind === 'subquery' || (expr.kind === 'binary' && (expr.op === '</' || expr.op === '>/'));
}

function visit(expr: Expr, statsOnly: boolean, found: Set<VectorSelector>): void {
  if (needsAll(expr)) return;
  if (expr.kind === 'vector') {
    if (statsOnly) found.add(expr);
    return;
  }
  const inner = statsOnly || (expr.kind === 'call' && statsFunctions.has(expr.func.name));
  for (const child of childrenOf(expr)) visit(child, inner, found);
}

/** The series without buckets. An unknown counter-reset hint is decided by the previous histogram. */
export function withDefiniteHints(series: SelectedSeries): SelectedSeries {
  return {
    labels: series.labels,
    open: () => {
      const raw = series.open();
      return raw === null ? null : settleHints(raw);
    },
  };
}

function settleHints(series: RawSeries): RawSeries {
  if (series.histograms === null) return series;
  let previous: FloatHistogram | null = null;
  const histograms = series.histograms.map((histogram) => {
    if (histogram === null) return null;
    const before = previous;
    previous = histogram;
    // Without buckets, as in Prometheus: a function that treats a gauge as a counter sees only resets of the count.
    const { schema, count, sum, counterReset } = histogram;
    const bare = { ...emptyHistogram, schema, count, sum, counterReset };
    if (counterReset !== 'unknown' || before === null) return bare;
    return { ...bare, counterReset: detectReset(histogram, before) ? 'reset' : 'not_reset' } as const;
  });
  return { ...series, histograms };
}
