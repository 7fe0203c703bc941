import { CompensatedSum } from '../numbers.ts';
import {
  coarser,
  commonBounds,
  customSchema,
  onBounds,
  sameNumbers,
  usesCustomBuckets,
  withoutEmpty,
} from './buckets.ts';
import type { Buckets, CounterResetHint, FloatHistogram } from './float-histogram.ts';
import { alignZeroBuckets } from './zero-bucket.ts';

const noBuckets: Buckets = { indexes: [], counts: [] };

/** A histogram without observations. */
export const emptyHistogram: FloatHistogram = {
  schema: 0,
  zeroThreshold: 0,
  zeroCount: 0,
  count: 0,
  sum: 0,
  positive: noBuckets,
  negative: noBuckets,
  customValues: [],
  counterReset: 'unknown',
};

/** Thrown when histograms with exponential and with custom buckets are combined. */
export class IncompatibleSchemas extends Error {
  constructor() {
    super('histograms with exponential and custom buckets cannot be combined');
  }
}

/** The result of adding or subtracting, with the compromises made. */
export interface Combined {
  readonly histogram: FloatHistogram;
  /** One side has the hint "reset", the other "not reset". */
  readonly resetCollision: boolean;
  /** Different custom bounds were reduced to the common ones. */
  readonly boundsReconciled: boolean;
}

/** A copy without empty buckets. */
export function compactHistogram(histogram: FloatHistogram): FloatHistogram {
  return { ...histogram, positive: withoutEmpty(histogram.positive), negative: withoutEmpty(histogram.negative) };
}

function mapCounts(histogram: FloatHistogram, change: (count: number) => number): FloatHistogram {
  const side = ({ indexes, counts }: Buckets): Buckets => ({ indexes, counts: counts.map(change) });
  return {
    ...histogram,
    zeroCount: change(histogram.zeroCount),
    count: change(histogram.count),
    sum: change(histogram.sum),
    positive: side(histogram.positive),
    negative: side(histogram.negative),
  };
}

/** Every count and the sum times a factor; a negative factor makes the result a gauge. */
export function scaleHistogram(histogram: FloatHistogram, factor: number): FloatHistogram {
  const result = mapCounts(histogram, (count) => count * factor);
  return factor < 0 ? { ...result, counterReset: 'gauge' } : result;
}

/** Every count and the sum divided; a division by zero leaves no buckets. */
export function divideHistogram(histogram: FloatHistogram, divisor: number): FloatHistogram {
  const result = mapCounts(histogram, (count) => count / divisor);
  if (divisor === 0) return { ...result, positive: noBuckets, negative: noBuckets };
  return divisor < 0 ? { ...result, counterReset: 'gauge' } : result;
}

/** The hint of a sum or difference; null for conflicting hints, whose result is unknown. */
function combinedHint(a: CounterResetHint, b: CounterResetHint): CounterResetHint | null {
  if (a === b) return a;
  if (a === 'gauge' || b === 'gauge') return 'gauge';
  return a === 'unknown' || b === 'unknown' ? 'unknown' : null;
}

/** Both histograms in one layout: schema, zero bucket, custom bounds. Errors: IncompatibleSchemas. */
export function align(a: FloatHistogram, b: FloatHistogram): { a: FloatHistogram; b: FloatHistogram; moved: boolean } {
  if (usesCustomBuckets(a) !== usesCustomBuckets(b)) throw new IncompatibleSchemas();
  if (a.schema === customSchema) {
    if (sameNumbers(a.customValues, b.customValues)) return { a, b, moved: false };
    const customValues = commonBounds(a.customValues, b.customValues);
    const move = (h: FloatHistogram): FloatHistogram => ({
      ...h,
      customValues,
      positive: onBounds(h.positive, h.customValues, customValues),
    });
    return { a: move(a), b: move(b), moved: true };
  }
  const [left, right] = alignZeroBuckets(a, b);
  const schema = Math.min(left.schema, right.schema);
  return { a: reduceSchema(left, schema), b: reduceSchema(right, schema), moved: false };
}

/** An exponential histogram in a coarser schema. */
export function reduceSchema(histogram: FloatHistogram, schema: number): FloatHistogram {
  if (histogram.schema === schema) return histogram;
  return {
    ...histogram,
    schema,
    positive: coarser(histogram.positive, histogram.schema, schema),
    negative: coarser(histogram.negative, histogram.schema, schema),
  };
}

/** Adds buckets of one layout; `sign` −1 subtracts. */
function addBuckets(a: Buckets, b: Buckets, sign: 1 | -1): Buckets {
  const indexes: number[] = [];
  const counts: number[] = [];
  let [i, j] = [0, 0];
  while (i < a.indexes.length || j < b.indexes.length) {
    const [x, y] = [a.indexes[i] ?? Infinity, b.indexes[j] ?? Infinity];
    indexes.push(Math.min(x, y));
    counts.push((x <= y ? a.counts[i]! : 0) + (y <= x ? sign * b.counts[j]! : 0));
    if (x <= y) i++;
    if (y <= x) j++;
  }
  return { indexes, counts };
}

function combine(left: FloatHistogram, right: FloatHistogram, sign: 1 | -1): Combined {
  const { a, b, moved } = align(left, right);
  const hint = combinedHint(left.counterReset, right.counterReset);
  return {
    histogram: {
      ...a,
      zeroCount: a.zeroCount + sign * b.zeroCount,
      count: a.count + sign * b.count,
      sum: a.sum + sign * b.sum,
      positive: addBuckets(a.positive, b.positive, sign),
      negative: addBuckets(a.negative, b.negative, sign),
      counterReset: hint ?? 'unknown',
    },
    resetCollision: hint === null,
    boundsReconciled: moved,
  };
}

/** a + b. Errors: IncompatibleSchemas. */
export function addHistograms(a: FloatHistogram, b: FloatHistogram): Combined {
  return combine(a, b, 1);
}

/** a − b. Errors: IncompatibleSchemas. */
export function subtractHistograms(a: FloatHistogram, b: FloatHistogram): Combined {
  return combine(a, b, -1);
}

/**
 * A sum of histograms in which every field is summed with compensation, so that small values are not lost next to huge
 * ones. The layout follows the coarsest histogram added.
 */
export class HistogramSum {
  #sum: FloatHistogram;
  #compensation: FloatHistogram;
  boundsReconciled = false;

  constructor(first: FloatHistogram) {
    this.#sum = first;
    this.#compensation = mapCounts(first, () => 0);
  }

  clone(): HistogramSum {
    const copy = new HistogramSum(this.#sum);
    copy.#compensation = this.#compensation;
    copy.boundsReconciled = this.boundsReconciled;
    return copy;
  }

  /** Errors: IncompatibleSchemas. */
  add(other: FloatHistogram): void {
    const { a, b, moved } = align(this.#sum, other);
    const c = align(this.#compensation, a).a;
    if (moved) this.boundsReconciled = true;
    const kahan = (sum: number, compensation: number, value: number): [number, number] => {
      const acc = new CompensatedSum(sum);
      acc.compensation = compensation;
      acc.add(value);
      return [acc.sum, acc.compensation];
    };
    const side = (x: Buckets, cx: Buckets, y: Buckets): [Buckets, Buckets] => {
      const wide = addBuckets(x, { indexes: y.indexes, counts: y.counts.map(() => 0) }, 1);
      const extra = new Map(cx.indexes.map((index, i) => [index, cx.counts[i]!]));
      const added = new Map(y.indexes.map((index, i) => [index, y.counts[i]!]));
      const pairs = wide.indexes.map((index, i) =>
        kahan(wide.counts[i]!, extra.get(index) ?? 0, added.get(index) ?? 0),
      );
      return [
        { indexes: wide.indexes, counts: pairs.map(([sum]) => sum) },
        { indexes: wide.indexes, counts: pairs.map(([, compensation]) => compensation) },
      ];
    };
    const [zeroCount, zeroC] = kahan(a.zeroCount, c.zeroCount, b.zeroCount);
    const [count, countC] = kahan(a.count, c.count, b.count);
    const [sum, sumC] = kahan(a.sum, c.sum, b.sum);
    const [positive, positiveC] = side(a.positive, c.positive, b.positive);
    const [negative, negativeC] = side(a.negative, c.negative, b.negative);
    const hint = combinedHint(this.#sum.counterReset, other.counterReset) ?? 'unknown';
    this.#sum = { ...a, zeroCount, count, sum, positive, negative, counterReset: hint };
    this.#compensation = { ...a, zeroCount: zeroC, count: countC, sum: sumC, positive: positiveC, negative: negativeC };
  }

  /** Divides both the sum and its compensation. */
  divide(divisor: number): void {
    this.#sum = divideHistogram(this.#sum, divisor);
    this.#compensation = divideHistogram(this.#compensation, divisor);
  }

  /** What is summed up so far, without its compensation: adding to it takes as long as it is wide. */
  get soFar(): FloatHistogram {
    return this.#sum;
  }

  /** True when any field has overflowed to infinity. */
  get overflowed(): boolean {
    const { zeroCount, count, sum, positive, negative } = this.#sum;
    return [zeroCount, count, sum, ...positive.counts, ...negative.counts].some((v) => Math.abs(v) === Infinity);
  }

  /** The sum with its compensation applied, empty buckets left out. */
  get result(): FloatHistogram {
    const compensation = { ...this.#compensation, counterReset: this.#sum.counterReset };
    return compactHistogram(addHistograms(this.#sum, compensation).histogram);
  }
}

/**
 * The mean of histograms: sum / n, or a running mean where the sum would overflow.
 * Errors: IncompatibleSchemas.
 */
export class HistogramMean {
  #sum: HistogramSum;
  #count = 1;
  #running = false;

  constructor(first: FloatHistogram) {
    this.#sum = new HistogramSum(first);
  }

  add(other: FloatHistogram): void {
    this.#count++;
    const n = this.#count;
    if (!this.#running) {
      const attempt = this.#sum.clone();
      attempt.add(other);
      if (!attempt.overflowed) {
        this.#sum = attempt;
        return;
      }
      this.#running = true;
      this.#sum.divide(n - 1);
    }
    this.#sum.divide(n / (n - 1));
    this.#sum.add(divideHistogram(other, n));
  }

  /** As for `HistogramSum`. */
  get soFar(): FloatHistogram {
    return this.#sum.soFar;
  }

  get boundsReconciled(): boolean {
    return this.#sum.boundsReconciled;
  }

  get result(): FloatHistogram {
    if (this.#running) return this.#sum.result;
    const mean = this.#sum.clone();
    mean.divide(this.#count);
    return mean.result;
  }
}
