import { OperatorError } from '../../base/errors.ts';

/** A run of neighbouring buckets. `offset`: the gap after the run before; for the first run, its first index. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** The schema number of histograms with explicit bucket bounds. */
export const customSchema = -53;

/**
 * One native histogram, in the form of Prometheus' remote protocols. Immutable.
 * Shape: `positive[i]` and `negative[i]` are the absolute counts of the buckets that the spans name, in their order.
 * Schema −4…8 is exponential. Schema −53 has `customValues` as upper bounds (ascending, without +Inf), no zero bucket
 * and no negative buckets. In a histogram of kind `integer` all counts are whole numbers up to 2^53.
 */
export interface NativeHistogram {
  readonly kind: 'integer' | 'float';
  readonly counterReset: 'unknown' | 'reset' | 'not_reset' | 'gauge';
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly count: number;
  readonly sum: number;
  readonly positiveSpans: readonly Span[];
  readonly negativeSpans: readonly Span[];
  readonly positive: readonly number[];
  readonly negative: readonly number[];
  readonly customValues: readonly number[];
}

/** A histogram with more buckets than this is refused. */
export const maxBuckets = 65_536;

/** Validates a histogram from outside. Errors: ERR_INPUT_INVALID that names the field. */
export function assertHistogram(h: NativeHistogram): void {
  const { schema, kind } = h;
  if (!(Number.isInteger(schema) && ((schema >= -4 && schema <= 8) || schema === customSchema))) {
    throw invalid('schema', `${schema} is not −4…8 or ${customSchema}`);
  }
  for (const side of ['positive', 'negative'] as const) {
    const spans = h[`${side}Spans`];
    let total = 0;
    spans.forEach(({ offset, length }, i) => {
      if (!Number.isInteger(offset) || !Number.isInteger(length) || length < 0 || (i > 0 && offset < 0)) {
        throw invalid(`${side}Spans[${i}]`, 'offset and length must be integers, not negative after the first');
      }
      total += length;
    });
    if (total !== h[side].length) throw invalid(side, `${h[side].length} counts for spans of ${total} buckets`);
    if (total > maxBuckets) throw invalid(side, `more than ${maxBuckets} buckets`);
    for (const count of h[side]) assertCount(side, count, kind);
  }
  assertCount('count', h.count, kind);
  assertCount('zeroCount', h.zeroCount, kind);
  if (!(h.zeroThreshold >= 0)) throw invalid('zeroThreshold', 'is negative or NaN');
  if (schema === customSchema) {
    if (h.zeroCount !== 0) throw invalid('zeroCount', 'must be 0 with custom bounds');
    if (h.negative.length > 0) throw invalid('negative', 'must be empty with custom bounds');
    const rising = h.customValues.every((v, i) => i === 0 || v > h.customValues[i - 1]!);
    if (!rising || h.customValues.some((v) => v === Infinity || v !== v)) {
      throw invalid('customValues', 'must rise and be finite');
    }
  } else if (h.customValues.length > 0) throw invalid('customValues', `not allowed with schema ${schema}`);
}

function assertCount(field: string, value: number, kind: NativeHistogram['kind']): void {
  if (kind === 'integer' ? !(Number.isSafeInteger(value) && value >= 0) : !(value >= 0)) {
    // Float counts may be any number but NaN, even negative, as gauges have them.
    if (kind === 'float' && value === value) return;
    throw invalid(field, `${value} is not a count`);
  }
}

/** The index of each bucket that the spans name. */
export function bucketIndexes(spans: readonly Span[]): number[] {
  const indexes: number[] = [];
  let next = 0;
  for (const { offset, length } of spans) {
    next += offset;
    for (let i = 0; i < length; i++) indexes.push(next++);
  }
  return indexes;
}

/** Spans of ascending bucket indexes, neighbours in one span. */
export function spansOf(indexes: readonly number[]): Span[] {
  const spans: { offset: number; length: number }[] = [];
  let next = 0;
  for (const index of indexes) {
    const last = spans.at(-1);
    if (last && index === next) last.length++;
    else spans.push({ offset: index - next, length: 1 });
    next = index + 1;
  }
  return spans;
}

/**
 * Whether two histograms have the same content: empty buckets, the layout of spans and reset hints other than `gauge`
 * are ignored.
 */
export function sameHistogram(a: NativeHistogram, b: NativeHistogram): boolean {
  return (
    a.kind === b.kind &&
    (a.counterReset === 'gauge') === (b.counterReset === 'gauge') &&
    a.schema === b.schema &&
    same(a.zeroThreshold, b.zeroThreshold) &&
    same(a.zeroCount, b.zeroCount) &&
    same(a.count, b.count) &&
    same(a.sum, b.sum) &&
    sameNumbers(a.customValues, b.customValues) &&
    sameBuckets(a.positiveSpans, a.positive, b.positiveSpans, b.positive) &&
    sameBuckets(a.negativeSpans, a.negative, b.negativeSpans, b.negative)
  );
}

function sameBuckets(aSpans: readonly Span[], a: readonly number[], bSpans: readonly Span[], b: readonly number[]) {
  const filled = (spans: readonly Span[], counts: readonly number[]): number[] =>
    bucketIndexes(spans).flatMap((index, i) => (counts[i] === 0 ? [] : [index, counts[i]!]));
  return sameNumbers(filled(aSpans, a), filled(bSpans, b));
}

export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => same(value, b[i]!));
}

function same(a: number, b: number): boolean {
  return a === b || (a !== a && b !== b);
}

function invalid(field: string, reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `histogram ${field}: ${reason}`);
}
