import type { HistogramLayout } from './histogram-layout.ts';
import type { ResetHeader } from './histogram-decoder.ts';
import { bucketIndexes, customSchema, sameNumbers, spansOf } from './native-histogram.ts';
import type { NativeHistogram } from './native-histogram.ts';

/** The state at a chunk's end. `last` is its last histogram, in the chunk's layout; null after a stale marker. */
export interface ChunkEnd {
  readonly header: ResetHeader;
  readonly layout: HistogramLayout;
  readonly last: Pick<NativeHistogram, 'count' | 'zeroCount' | 'positive' | 'negative'> | null;
}

/**
 * Whether a histogram can follow in the same chunk: if so, the layout that the chunk then needs; if not, the counter
 * reset hint of the new chunk.
 */
export type Fit =
  | { readonly ok: true; readonly layout: HistogramLayout }
  | { readonly ok: false; readonly hint: 'reset' | 'not_reset' | 'unknown' };

/**
 * Decides as Prometheus does. A new chunk is needed after a stale marker, between counters and gauges, for another
 * schema, zero threshold or custom bounds, and, in counters, for a reset. New buckets widen the layout. A gauge may
 * lack buckets of the layout; a counter may lack only those that were empty.
 */
export function fitHistogram(end: ChunkEnd, h: NativeHistogram): Fit {
  return h.counterReset === 'gauge' ? fitGauge(end, h) : fitCounter(end, h);
}

function fitCounter({ header, layout, last }: ChunkEnd, h: NativeHistogram): Fit {
  if (header === 'gauge') return { ok: false, hint: 'not_reset' };
  if (h.counterReset === 'reset') return { ok: false, hint: 'reset' };
  if (last === null) return { ok: false, hint: 'unknown' };
  if (h.count < last.count) return { ok: false, hint: 'reset' };
  if (h.schema !== layout.schema || h.zeroThreshold !== layout.zeroThreshold) return { ok: false, hint: 'unknown' };
  if (h.schema === customSchema && !sameNumbers(h.customValues, layout.customValues)) {
    return { ok: false, hint: 'reset' };
  }
  if (h.zeroCount < last.zeroCount) return { ok: false, hint: 'reset' };
  const [positive, negative] = expansions(layout, last, h);
  if (positive.fell || negative.fell) return { ok: false, hint: 'reset' };
  if (!positive.added && !negative.added) return { ok: true, layout };
  const positiveSpans = positive.missing ? spansOf(positive.union) : h.positiveSpans;
  const negativeSpans = negative.missing ? spansOf(negative.union) : h.negativeSpans;
  return { ok: true, layout: { ...layout, positiveSpans, negativeSpans } };
}

function fitGauge({ header, layout, last }: ChunkEnd, h: NativeHistogram): Fit {
  const no = { ok: false, hint: 'unknown' } as const;
  if (header !== 'gauge' || last === null) return no;
  if (h.schema !== layout.schema || h.zeroThreshold !== layout.zeroThreshold) return no;
  if (h.schema === customSchema && !sameNumbers(h.customValues, layout.customValues)) return no;
  const [positive, negative] = expansions(layout, last, h);
  if (!positive.added && !negative.added) return { ok: true, layout };
  const merged = positive.missing || negative.missing;
  const positiveSpans = merged ? spansOf(positive.union) : h.positiveSpans;
  const negativeSpans = merged ? spansOf(negative.union) : h.negativeSpans;
  return { ok: true, layout: { ...layout, positiveSpans, negativeSpans } };
}

interface Expansion {
  /** The bucket indexes of the layout and of the histogram, ascending. */
  readonly union: readonly number[];
  /** The histogram has buckets that the layout lacks. */
  readonly added: boolean;
  /** The layout has buckets that the histogram lacks. */
  readonly missing: boolean;
  /** A bucket has a lower count than before, or a bucket that was not empty is missing. */
  readonly fell: boolean;
}

/** How the positive and the negative buckets of `h` differ from those of the chunk's layout. */
function expansions(
  layout: HistogramLayout,
  last: Pick<NativeHistogram, 'positive' | 'negative'>,
  h: NativeHistogram,
): [positive: Expansion, negative: Expansion] {
  return [
    expand(bucketIndexes(layout.positiveSpans), last.positive, bucketIndexes(h.positiveSpans), h.positive),
    expand(bucketIndexes(layout.negativeSpans), last.negative, bucketIndexes(h.negativeSpans), h.negative),
  ];
}

function expand(
  a: readonly number[],
  aCounts: readonly number[],
  b: readonly number[],
  bCounts: readonly number[],
): Expansion {
  const union: number[] = [];
  let added = false;
  let missing = false;
  let fell = false;
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (j >= b.length || (i < a.length && a[i]! < b[j]!)) {
      if (aCounts[i] !== 0) fell = true;
      missing = true;
      union.push(a[i++]!);
    } else if (i >= a.length || a[i]! > b[j]!) {
      added = true;
      union.push(b[j++]!);
    } else {
      if (aCounts[i]! > bCounts[j]!) fell = true;
      union.push(a[i++]!);
      j++;
    }
  }
  return { union, added, missing, fell };
}
