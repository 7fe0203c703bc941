import { spansOf } from '../../tsdb/index.ts';
import type { NativeHistogram } from '../../tsdb/index.ts';

/**
 * The `n`th histogram of a test series. `shape` chooses the kind: whole or float counts, gauges, custom bounds. Buckets
 * come and go, and counters reset now and then, so that every way to cut and to widen a chunk occurs.
 */
export function aHistogram(shape: number, n: number): NativeHistogram {
  const kind = shape % 2 === 0 ? 'integer' : 'float';
  const custom = shape >= 6;
  const gauge = (shape >> 1) % 3 === 1;
  const age = gauge ? n : n % 17;
  const scale = kind === 'float' ? 1.25 : 1;
  const indexes = [0, 1, 2, 3, 4]
    .filter((i) => i <= 1 + age / 3 || i === n % 5)
    .map((i) => (custom ? i : i * (1 + (shape & 2)) - 3));
  const positive = indexes.map((_, i) => (gauge && (n + i) % 4 === 0 ? 0 : scale * (age * (i + 2) + i + 1)));
  const below = custom || n % 3 === 0 ? [] : [-7, -6];
  const negative = below.map((_, i) => scale * (age + i + 1));
  const zeroCount = custom ? 0 : scale * age;
  const total = [...positive, ...negative].reduce((sum, count) => sum + count, zeroCount);
  return {
    kind,
    counterReset: gauge ? 'gauge' : n % 23 === 22 ? 'reset' : 'unknown',
    schema: custom ? -53 : n % 29 === 28 ? 1 : 3,
    zeroThreshold: custom ? 0 : 2 ** -128,
    zeroCount,
    count: total,
    sum: total * 0.37 - n,
    positiveSpans: spansOf(indexes),
    negativeSpans: spansOf(below),
    positive,
    negative,
    customValues: custom ? [0.005, 0.1, 1, 2.5, 1000 / 3] : [],
  };
}
