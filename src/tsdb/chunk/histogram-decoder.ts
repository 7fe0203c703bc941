import { OperatorError } from '../../base/errors.ts';
import { BitReader } from './bit-reader.ts';
import { floatOf, isStale } from './float-bits.ts';
import { readLayout } from './histogram-layout.ts';
import type { HistogramLayout } from './histogram-layout.ts';
import { bucketIndexes } from './native-histogram.ts';
import type { NativeHistogram } from './native-histogram.ts';
import { readVarbitInt, readVarbitUint } from './varbit.ts';
import { XorField } from './xor-field.ts';

/** Values of the upper two bits of the chunk's third byte: the counter state at the chunk's first sample. */
export const resetHeader = { unknown: 0, not_reset: 0x40, reset: 0x80, gauge: 0xc0 } as const satisfies Record<
  ResetHeader,
  number
>;
/** Whether a chunk begins after a reset of its counter; gauges never reset. */
export type ResetHeader = 'unknown' | 'not_reset' | 'reset' | 'gauge';

export const histogramHeaderBytes = 3;

/** One sample of a histogram chunk; null is a stale marker. */
export interface HistogramPoint {
  readonly t: number;
  readonly histogram: NativeHistogram | null;
}

/** The samples of a histogram chunk, and its counter-reset header. */
export interface DecodedHistograms {
  readonly header: ResetHeader;
  readonly points: HistogramPoint[];
}

/**
 * Decodes a chunk of encoding 2 (integer) or 3 (float).
 * The first sample's hint is unknown unless the chunk holds gauges: the decoder cannot know whether the previous chunk
 * still exists. Later samples are never resets, since a reset always begins a chunk.
 * Errors: ERR_STORE_CORRUPT for bits that end early, unknown schemas and numbers beyond a double.
 */
export function decodeHistogramChunk(kind: NativeHistogram['kind'], bytes: Uint8Array): DecodedHistograms {
  if (bytes.length < histogramHeaderBytes) throw corrupt('shorter than its header');
  const count = (bytes[0]! << 8) | bytes[1]!;
  const bits = bytes[2]! & 0xc0;
  const header = (Object.keys(resetHeader) as ResetHeader[]).find((name) => resetHeader[name] === bits)!;
  if (count === 0) return { header, points: [] };
  const reader = new BitReader(bytes, histogramHeaderBytes);
  const layout = readLayout(reader);
  const buckets = { positive: bucketIndexes(layout.positiveSpans), negative: bucketIndexes(layout.negativeSpans) };
  const counts = kind === 'integer' ? new IntegerCounts(buckets) : new FloatCounts(buckets);
  const points: HistogramPoint[] = [];
  let t = 0;
  let delta = 0;
  for (let i = 0; i < count; i++) {
    if (i === 0) t = readVarbitInt(reader);
    else t += delta += readVarbitInt(reader);
    if (!Number.isSafeInteger(t)) throw corrupt('a timestamp is out of range');
    const stale = counts.read(reader, i === 0);
    points.push({ t, histogram: stale ? null : counts.histogram(layout, hintOf(header, i)) });
  }
  return { header, points };
}

function hintOf(header: ResetHeader, i: number): NativeHistogram['counterReset'] {
  if (header === 'gauge') return 'gauge';
  return i > 0 ? 'not_reset' : 'unknown';
}

interface Sides<T> {
  readonly positive: T;
  readonly negative: T;
}

/** Decodes integer counts: fields are deltas of deltas; a bucket is stored as the difference from the bucket before. */
class IntegerCounts {
  #count = 0;
  #countDelta = 0;
  #zero = 0;
  #zeroDelta = 0;
  readonly #sum = new XorField();
  readonly #buckets: Sides<{ value: number[]; delta: number[] }>;

  constructor({ positive, negative }: Sides<number[]>) {
    const column = (n: number) => ({ value: new Array<number>(n).fill(0), delta: new Array<number>(n).fill(0) });
    this.#buckets = { positive: column(positive.length), negative: column(negative.length) };
  }

  /** True for a stale marker, whose buckets are not written. */
  read(reader: BitReader, first: boolean): boolean {
    if (first) {
      this.#count = readVarbitUint(reader);
      this.#zero = readVarbitUint(reader);
      this.#sum.readStart(reader);
    } else {
      this.#count += this.#countDelta += readVarbitInt(reader);
      this.#zero += this.#zeroDelta += readVarbitInt(reader);
      this.#sum.read(reader);
    }
    if (isStale(this.#sum.high, this.#sum.low)) return true;
    for (const { value, delta } of [this.#buckets.positive, this.#buckets.negative]) {
      for (let i = 0; i < value.length; i++) {
        if (first) value[i] = readVarbitInt(reader);
        else value[i]! += delta[i]! += readVarbitInt(reader);
      }
    }
    return false;
  }

  histogram(layout: HistogramLayout, counterReset: NativeHistogram['counterReset']): NativeHistogram {
    const absolute = (differences: readonly number[]): number[] => {
      let count = 0;
      return differences.map((difference) => (count += difference));
    };
    return {
      kind: 'integer',
      counterReset,
      ...layout,
      count: this.#count,
      zeroCount: this.#zero,
      sum: floatOf(this.#sum.high, this.#sum.low),
      positive: absolute(this.#buckets.positive.value),
      negative: absolute(this.#buckets.negative.value),
    };
  }
}

/** Decodes float counts: every field and every bucket is XORed with its value in the previous sample. */
class FloatCounts {
  readonly #count = new XorField();
  readonly #zero = new XorField();
  readonly #sum = new XorField();
  readonly #buckets: Sides<XorField[]>;

  constructor({ positive, negative }: Sides<number[]>) {
    this.#buckets = { positive: positive.map(() => new XorField()), negative: negative.map(() => new XorField()) };
  }

  read(reader: BitReader, first: boolean): boolean {
    const step = (field: XorField): void => (first ? field.readStart(reader) : field.read(reader));
    step(this.#count);
    step(this.#zero);
    step(this.#sum);
    if (isStale(this.#sum.high, this.#sum.low)) return true;
    this.#buckets.positive.forEach(step);
    this.#buckets.negative.forEach(step);
    return false;
  }

  histogram(layout: HistogramLayout, counterReset: NativeHistogram['counterReset']): NativeHistogram {
    const value = ({ high, low }: XorField): number => floatOf(high, low);
    return {
      kind: 'float',
      counterReset,
      ...layout,
      count: value(this.#count),
      zeroCount: value(this.#zero),
      sum: value(this.#sum),
      positive: this.#buckets.positive.map(value),
      negative: this.#buckets.negative.map(value),
    };
  }
}

function corrupt(reason: string): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', `histogram chunk: ${reason}`);
}
