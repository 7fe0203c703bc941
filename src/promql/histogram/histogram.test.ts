import fc from 'fast-check';
import {
  HistogramMean,
  HistogramSum,
  addHistograms,
  compactHistogram,
  divideHistogram,
  emptyHistogram,
  scaleHistogram,
  subtractHistograms,
} from './arithmetic.ts';
import { exponentialBound } from './buckets.ts';
import { histogramsEqual } from './compare.ts';
import type { FloatHistogram } from './float-histogram.ts';
import { histogramFraction, histogramQuantile } from './quantile.ts';
import { detectReset } from './reset.ts';
import { histogramText } from './text.ts';
import { trimHistogram } from './trim.ts';

/** A histogram with these positive buckets from index 1 on. */
function of(counts: readonly number[], more: Partial<FloatHistogram> = {}): FloatHistogram {
  const count = counts.reduce((a, b) => a + b, 0) + (more.zeroCount ?? 0);
  const positive = { indexes: counts.map((_, i) => i + 1), counts };
  return compactHistogram({ ...emptyHistogram, count, sum: count, positive, ...more });
}

const custom = (bounds: readonly number[], counts: readonly number[]): FloatHistogram =>
  of(counts, { schema: -53, customValues: bounds, positive: { indexes: counts.map((_, i) => i), counts } });

const silent = (): void => undefined;

describe('native histograms', () => {
  test('bucket bounds double with each index in schema 0, and are closer together in finer schemas', () => {
    expect([exponentialBound(0, 0), exponentialBound(3, 0), exponentialBound(2, 1), exponentialBound(1, -1)]).toEqual([
      1, 8, 2, 4,
    ]);
  });

  test('histograms are added bucket by bucket, in the coarser of both schemas', () => {
    const fine = of([1, 2, 3, 4], { schema: 1 });
    const coarse = of([10, 20]);
    const { histogram } = addHistograms(fine, coarse);
    expect([histogram.schema, histogram.count, histogram.positive]).toEqual([
      0,
      40,
      { indexes: [1, 2], counts: [13, 27] },
    ]);
  });

  test('the wider zero bucket takes in the buckets inside it, and all of a bucket that it would cut', () => {
    const narrow = of([5, 7]);
    const wide = of([], { zeroThreshold: 1.5, zeroCount: 2 });
    const { histogram } = addHistograms(narrow, wide);
    expect([histogram.zeroThreshold, histogram.zeroCount, histogram.positive]).toEqual([
      2,
      7,
      { indexes: [2], counts: [7] },
    ]);
  });

  test('the sum of histograms with different custom bounds has only the bounds that both have', () => {
    const { histogram, boundsReconciled } = addHistograms(custom([1, 2, 3], [1, 1, 1, 1]), custom([1, 3], [5, 5, 5]));
    expect(boundsReconciled).toBe(true);
    expect([histogram.customValues, histogram.positive.counts]).toEqual([
      [1, 3],
      [6, 7, 6],
    ]);
  });

  test('exponential and custom buckets cannot be combined', () => {
    expect(() => addHistograms(of([1]), custom([1], [1]))).toThrow(/cannot be combined/);
  });

  const counts = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 8 });
  const histogram = fc.tuple(counts, fc.integer({ min: -1, max: 2 })).map(([c, schema]) => of(c, { schema }));

  test('what is added can be subtracted again', () => {
    fc.assert(
      fc.property(counts, counts, (a, b) => {
        const sum = addHistograms(of(a), of(b)).histogram;
        const back = compactHistogram(subtractHistograms(sum, of(b)).histogram);
        expect(histogramsEqual(back, of(a))).toBe(true);
      }),
      { seed: 19 },
    );
  });

  test('the compensated sum of integer histograms equals their plain sum, and the mean equals that sum / n', () => {
    fc.assert(
      fc.property(fc.array(histogram, { minLength: 1, maxLength: 6 }), ([first, ...rest]) => {
        const sum = new HistogramSum(first!);
        const mean = new HistogramMean(first!);
        let plain = first!;
        for (const h of rest) {
          sum.add(h);
          mean.add(h);
          plain = addHistograms(plain, h).histogram;
        }
        expect(histogramsEqual(sum.result, compactHistogram(plain))).toBe(true);
        expect(histogramsEqual(mean.result, compactHistogram(divideHistogram(plain, rest.length + 1)))).toBe(true);
      }),
      { seed: 23 },
    );
  });

  test('a smaller bucket, a finer schema or a smaller count is a reset; growth is not', () => {
    expect(detectReset(of([1, 3]), of([1, 2]))).toBe(false);
    expect(detectReset(of([0, 9]), of([1, 2]))).toBe(true);
    expect(detectReset(of([9, 9], { schema: 1 }), of([1, 2]))).toBe(true);
    expect(detectReset(of([1, 1]), of([1, 2]))).toBe(true);
    expect(detectReset(of([1], { counterReset: 'not_reset' }), of([9]))).toBe(false);
  });

  test('a missing bucket is a reset if it had counts, wherever it lies; a new bucket is none', () => {
    const sparse = (indexes: number[], counts: number[]) => ({ ...of([]), positive: { indexes, counts } });
    const before = sparse([-3, 2, 7, 9], [1, 0, 4, 2]);
    expect(detectReset(sparse([-5, -3, 0, 7, 8, 9, 11], [1, 1, 1, 4, 1, 2, 1]), before)).toBe(false);
    for (const missing of [0, 2, 3]) {
      const kept = [0, 1, 2, 3].filter((i) => i !== missing);
      const now = sparse(
        kept.map((i) => before.positive.indexes[i]!),
        kept.map((i) => before.positive.counts[i]! + 1),
      );
      expect(detectReset(now, before)).toBe(true);
    }
    expect(detectReset(sparse([], []), before)).toBe(true);
    expect(detectReset(sparse([-3, 6, 7, 8, 9], [1, 9, 3, 9, 2]), before)).toBe(true);
    expect(detectReset(before, sparse([], []))).toBe(false);
  });

  test('histogramFraction is the inverse function of histogramQuantile', () => {
    fc.assert(
      fc.property(histogram, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (h, q) => {
        if (h.count === 0) return;
        const value = histogramQuantile(q, h, silent);
        expect(histogramFraction(-Infinity, value, h, silent)).toBeCloseTo(q, 9);
      }),
      { seed: 29 },
    );
  });

  test('trimming below and above a limit keeps every observation in one of the two results', () => {
    fc.assert(
      fc.property(histogram, fc.double({ min: 0.1, max: 300, noNaN: true }), (h, limit) => {
        const below = trimHistogram(h, limit, true);
        const above = trimHistogram(h, limit, false);
        expect(below.count + above.count).toBeCloseTo(h.count, 6);
        const share = h.count === 0 ? 0 : histogramFraction(-Infinity, limit, h, silent);
        expect(below.count).toBeCloseTo(share * h.count, 6);
      }),
      { seed: 31 },
    );
  });

  test('a negative factor makes a gauge, and division by zero leaves no bucket', () => {
    expect(scaleHistogram(of([1]), -1).counterReset).toBe('gauge');
    expect(divideHistogram(of([1]), 0).positive.indexes).toEqual([]);
  });

  test('the text of a histogram names its buckets', () => {
    expect(histogramText(of([2], { zeroCount: 1, zeroThreshold: 0.001 }))).toBe(
      '{count:3, sum:3, [-0.001,0.001]:1, (1,2]:2}',
    );
  });
});
