import type { Buckets, FloatHistogram } from './float-histogram.ts';

/**
 * One digit for each of the 256 finest exponential buckets between ½ and 1: n means that Prometheus' bound lies n − 1
 * units of the last place below `2 ** (i / 256) / 2`. Prometheus' bounds come from a table computed with less than full
 * precision; they are visible in answers and in the text of histograms, so ours must be equal.
 */
const shifts = [
  '1111112111211111112311222222222211211121122211221122102211221122',
  '1111112222332132112111211112111111121011213311221222112121332222',
  '2121223322322122222222323233323311221121223321332233212232332232',
  '2243223233433343333333444455435422322333324422333243223333543344',
].join('');

/** Upper bounds of the buckets of schema 8 from ½ to below 1; coarser schemas use every 2nd, 4th, … of them. */
const fineBounds: Float64Array = Float64Array.from({ length: 256 }, (_, i) => 2 ** (i / 256) / 2);

const words = new BigInt64Array(fineBounds.buffer);
for (let i = 0; i < 256; i++) words[i]! += BigInt(1 - Number(shifts[i]));

/** The schema number of histograms with custom bounds. */
export const customSchema = -53;

export function usesCustomBuckets(histogram: FloatHistogram): boolean {
  return histogram.schema === customSchema;
}

/** One bucket with its bounds. */
export interface BoundedBucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

/** The upper bound of a positive exponential bucket: 2^(index · 2^−schema). */
export function exponentialBound(index: number, schema: number): number {
  if (schema <= 0) {
    const exponent = index * 2 ** -schema;
    return exponent === 1024 ? Number.MAX_VALUE : 2 ** exponent;
  }
  const parts = 2 ** schema;
  const whole = Math.floor(index / parts);
  const fraction = fineBounds[(index - whole * parts) * (256 / parts)]!;
  if (whole === 1024 && fraction === 0.5) return Number.MAX_VALUE;
  return whole > 1000 ? fraction * 2 ** 1000 * 2 ** (whole - 999) : fraction * 2 ** (whole + 1);
}

/** The bounds of bucket `index` on the positive side. */
export function bucketBounds(histogram: FloatHistogram, index: number): { lower: number; upper: number } {
  if (usesCustomBuckets(histogram)) {
    const { customValues } = histogram;
    const lower = index === 0 ? -Infinity : (customValues[index - 1] ?? Infinity);
    return { lower, upper: customValues[index] ?? Infinity };
  }
  const { schema } = histogram;
  return { lower: exponentialBound(index - 1, schema), upper: exponentialBound(index, schema) };
}

/** The positive buckets from the zero bucket upwards. */
export function positiveBuckets(histogram: FloatHistogram): BoundedBucket[] {
  const { indexes, counts } = histogram.positive;
  return indexes.map((index, i) => ({ ...bucketBounds(histogram, index), count: counts[i]! }));
}

/** The negative buckets from the zero bucket downwards. */
export function negativeBuckets(histogram: FloatHistogram): BoundedBucket[] {
  const { indexes, counts } = histogram.negative;
  return indexes.map((index, i) => {
    const { lower, upper } = bucketBounds(histogram, index);
    return { lower: -upper, upper: -lower, count: counts[i]! };
  });
}

/** All buckets in ascending order. A bucket that reaches into the zero bucket is cut at the zero threshold. */
export function allBuckets(histogram: FloatHistogram): BoundedBucket[] {
  const { zeroThreshold, zeroCount } = histogram;
  const zero = zeroCount > 0 ? [{ lower: -zeroThreshold, upper: zeroThreshold, count: zeroCount }] : [];
  const below = negativeBuckets(histogram).reverse();
  return [...below, ...zero, ...positiveBuckets(histogram)].map((bucket) => {
    if (bucket.lower > 0 && bucket.lower < zeroThreshold) return { ...bucket, lower: zeroThreshold };
    if (bucket.upper < 0 && bucket.upper > -zeroThreshold) return { ...bucket, upper: -zeroThreshold };
    return bucket;
  });
}

/**
 * Buckets moved to the indexes that `target` returns, which must ascend. Counts that move to the same index are added.
 */
function moved(buckets: Buckets, target: (index: number) => number): Buckets {
  const indexes: number[] = [];
  const counts: number[] = [];
  buckets.indexes.forEach((index, i) => {
    const to = target(index);
    if (indexes.at(-1) === to) counts[counts.length - 1]! += buckets.counts[i]!;
    else {
      indexes.push(to);
      counts.push(buckets.counts[i]!);
    }
  });
  return { indexes, counts };
}

/** Buckets in a coarser exponential schema. */
export function coarser(buckets: Buckets, from: number, to: number): Buckets {
  return from === to ? buckets : moved(buckets, (index) => Math.floor((index - 1) / 2 ** (from - to)) + 1);
}

/** Buckets of one set of custom bounds merged into a set whose bounds are a subset. */
export function onBounds(buckets: Buckets, bounds: readonly number[], target: readonly number[]): Buckets {
  let to = 0;
  return moved(buckets, (index) => {
    const upper = bounds[index] ?? Infinity;
    while (to < target.length && target[to]! < upper) to++;
    return to;
  });
}

/** The bounds that both sets have. */
export function commonBounds(a: readonly number[], b: readonly number[]): number[] {
  const known = new Set(b);
  return a.filter((bound) => known.has(bound));
}

export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
}

/** Buckets without empty ones. */
export function withoutEmpty(buckets: Buckets): Buckets {
  if (!buckets.counts.includes(0)) return buckets;
  const kept = buckets.counts.flatMap((count, i) => (count === 0 ? [] : [i]));
  return { indexes: kept.map((i) => buckets.indexes[i]!), counts: kept.map((i) => buckets.counts[i]!) };
}
