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
 * The selectors whose histograms are only used for count and sum. Their counter resets are detected from sample to
 * sample during reading, which replaces hints that would otherwise stay unknown.
 */
export function statsOnlySelectors(expr: Expr): Set<VectorSelector> {
  const found = new Set<VectorSelector>();
  visit(expr, false, found);
  return found;
}

/**
 * True for an expression that needs buckets, or whose neighbouring samples are not those of the store: the selectors
 * below such an expression are read completely.
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

/** The series without buckets. Each unknown hint is replaced by the result of comparing with the previous histogram. */
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
    // Without buckets, as in Prometheus: for a gauge taken for a counter, resets are then detected by the count only.
    const { schema, count, sum, counterReset } = histogram;
    const bare = { ...emptyHistogram, schema, count, sum, counterReset };
    if (counterReset !== 'unknown' || before === null) return bare;
    return { ...bare, counterReset: detectReset(histogram, before) ? 'reset' : 'not_reset' } as const;
  });
  return { ...series, histograms };
}
