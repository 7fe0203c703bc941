import type { Chunk } from '../types.ts';
import { BitWriter } from './bit-writer.ts';
import { highBits, lowBits, staleHigh, staleLow } from './float-bits.ts';
import { decodeHistogramChunk, histogramHeaderBytes, resetHeader } from './histogram-decoder.ts';
import type { HistogramPoint, ResetHeader } from './histogram-decoder.ts';
import { fitHistogram } from './histogram-fit.ts';
import type { ChunkEnd, Fit } from './histogram-fit.ts';
import { putLayout } from './histogram-layout.ts';
import type { HistogramLayout } from './histogram-layout.ts';
import { bucketIndexes } from './native-histogram.ts';
import type { NativeHistogram, Span } from './native-histogram.ts';
import { putVarbitInt, putVarbitUint } from './varbit.ts';
import { XorField } from './xor-field.ts';

/** Numbers of prometheus.Chunk.Encoding. */
export const encodingOf = { integer: 2, float: 3 } as const;

const staleLayout: HistogramLayout = {
  schema: 0,
  zeroThreshold: 0,
  positiveSpans: [],
  negativeSpans: [],
  customValues: [],
};

/**
 * Writes one chunk of native histograms, byte for byte as Prometheus does.
 * Shape: u16 BE count, reset header, layout; then for each sample the time, the counts, the sum and the buckets:
 * integers as deltas of deltas in variable-length bits, floats XORed with their predecessors.
 * When a histogram has new buckets, the chunk is rewritten with the wider layout.
 */
export class HistogramAppender {
  readonly kind: NativeHistogram['kind'];
  readonly header: ResetHeader;
  minT = 0;
  maxT = 0;
  count = 0;
  #layout: HistogramLayout = staleLayout;
  #writer: CountWriter;
  #out = new BitWriter(histogramHeaderBytes);
  #delta = 0;
  #last: ChunkEnd['last'] = null;

  constructor(kind: NativeHistogram['kind'], header: ResetHeader) {
    this.kind = kind;
    this.header = header;
    this.#writer = countWriter(kind, 0);
  }

  get byteLength(): number {
    return this.#out.byteLength;
  }

  /** Whether `h` (null: a stale marker) can be the next sample. A stale marker fits any counter, and never a gauge. */
  fit(h: NativeHistogram | null): Fit {
    if (h === null && this.header === 'gauge') return { ok: false, hint: 'not_reset' };
    if (h === null) return { ok: true, layout: this.#layout };
    return fitHistogram({ header: this.header, layout: this.#layout, last: this.#last }, h);
  }

  /**
   * Adds the first sample of the chunk, or one that fits it. Assumptions: times ascend; the histogram is well-formed.
   */
  append(t: number, h: NativeHistogram | null): void {
    if (this.count === 0) {
      this.#begin(h ?? staleLayout);
      this.minT = t;
    } else {
      const fit = this.fit(h);
      if (!fit.ok) throw new RangeError('histogram does not fit the chunk');
      if (fit.layout !== this.#layout) this.#widen(fit.layout);
    }
    this.#write(t, h);
  }

  /** A copy of the chunk; later samples do not change it. */
  chunk(): Chunk {
    const bytes = this.#out.take();
    bytes[0] = this.count >>> 8;
    bytes[1] = this.count;
    bytes[2] = resetHeader[this.header];
    return { encoding: encodingOf[this.kind], minT: this.minT, maxT: this.maxT, count: this.count, bytes };
  }

  #begin(layout: HistogramLayout): void {
    const { schema, zeroThreshold, positiveSpans, negativeSpans, customValues } = layout;
    this.#layout = { schema, zeroThreshold, positiveSpans, negativeSpans, customValues };
    this.#out = new BitWriter(histogramHeaderBytes);
    putLayout(this.#out, this.#layout);
    this.#writer = countWriter(this.kind, length(positiveSpans) + length(negativeSpans));
    this.#delta = 0;
    this.count = 0;
  }

  #widen(layout: HistogramLayout): void {
    const { points } = decodeHistogramChunk(this.kind, this.chunk().bytes);
    this.#begin(layout);
    for (const { t, histogram } of points) this.#write(t, histogram);
  }

  #write(t: number, h: NativeHistogram | null): void {
    if (this.count === 0) putVarbitInt(this.#out, t);
    else {
      const delta = t - this.maxT;
      putVarbitInt(this.#out, delta - this.#delta);
      this.#delta = delta;
    }
    if (h === null) {
      this.#writer.stale(this.#out, this.count === 0);
      this.#last = null;
    } else {
      const positive = aligned(this.#layout.positiveSpans, h.positiveSpans, h.positive);
      const negative = aligned(this.#layout.negativeSpans, h.negativeSpans, h.negative);
      this.#last = { count: h.count, zeroCount: h.zeroCount, positive, negative };
      this.#writer.write(this.#out, this.count === 0, h, positive, negative);
    }
    this.maxT = t;
    this.count++;
  }
}

/**
 * The header of a chunk that begins with `h`. `before`: the chunk directly before it in the same series, if there is
 * one. `refused`: the chunk before ended because `h` did not fit, not because it was full.
 */
export function headerFor(
  h: NativeHistogram | null,
  before: HistogramAppender | undefined,
  refused: boolean,
): ResetHeader {
  if (h?.counterReset === 'gauge') return 'gauge';
  if (h?.counterReset === 'reset') return 'reset';
  if (!before || (h && before.kind !== h.kind)) return 'unknown';
  const fit = before.fit(h);
  const hint = fit.ok ? 'not_reset' : fit.hint;
  // Prometheus treats the two kinds differently: for floats the header is "unknown" when a chunk had to end without a
  // reset.
  if (before.kind === 'integer' || hint === 'reset') return hint;
  return refused ? 'unknown' : 'not_reset';
}

/** Encodes a run of points of one kind; a chunk ends when the next point does not fit, or when it is full. */
export function encodeHistogramPoints(
  kind: NativeHistogram['kind'],
  points: readonly HistogramPoint[],
  first: ResetHeader,
  perChunk: number,
): Chunk[] {
  const chunks: Chunk[] = [];
  let open: HistogramAppender | undefined;
  for (const { t, histogram } of points) {
    const fits = open !== undefined && open.fit(histogram).ok;
    if (!open || !fits || open.count >= perChunk) {
      const header = open ? headerFor(histogram, open, !fits) : first;
      if (open) chunks.push(open.chunk());
      open = new HistogramAppender(kind, header);
    }
    open.append(t, histogram);
  }
  if (open) chunks.push(open.chunk());
  return chunks;
}

function length(spans: readonly Span[]): number {
  return spans.reduce((n, span) => n + span.length, 0);
}

/** Counts in the order of the layout's buckets; a bucket that the histogram lacks counts as empty. */
function aligned(layout: readonly Span[], spans: readonly Span[], counts: readonly number[]): readonly number[] {
  const indexes = bucketIndexes(layout);
  const own = bucketIndexes(spans);
  const out: number[] = [];
  let j = 0;
  for (const index of indexes) out.push(own[j] === index ? counts[j++]! : 0);
  return out;
}

interface CountWriter {
  write(
    out: BitWriter,
    first: boolean,
    h: NativeHistogram,
    positive: readonly number[],
    negative: readonly number[],
  ): void;
  stale(out: BitWriter, first: boolean): void;
}

function countWriter(kind: NativeHistogram['kind'], buckets: number): CountWriter {
  return kind === 'integer' ? new IntegerWriter(buckets) : new FloatWriter(buckets);
}

class IntegerWriter implements CountWriter {
  #count = 0;
  #countDelta = 0;
  #zero = 0;
  #zeroDelta = 0;
  readonly #sum = new XorField();
  readonly #value: number[];
  readonly #delta: number[];

  constructor(buckets: number) {
    this.#value = new Array<number>(buckets).fill(0);
    this.#delta = new Array<number>(buckets).fill(0);
  }

  write(out: BitWriter, first: boolean, h: NativeHistogram, positive: readonly number[], negative: readonly number[]) {
    if (first) {
      putVarbitUint(out, h.count);
      putVarbitUint(out, h.zeroCount);
      this.#sum.start(out, highBits(h.sum), lowBits(h.sum));
    } else {
      const countDelta = h.count - this.#count;
      const zeroDelta = h.zeroCount - this.#zero;
      putVarbitInt(out, countDelta - this.#countDelta);
      putVarbitInt(out, zeroDelta - this.#zeroDelta);
      this.#sum.write(out, highBits(h.sum), lowBits(h.sum));
      this.#countDelta = countDelta;
      this.#zeroDelta = zeroDelta;
    }
    this.#count = h.count;
    this.#zero = h.zeroCount;
    let slot = 0;
    for (const side of [positive, negative]) {
      let before = 0;
      for (const count of side) {
        const value = count - before;
        before = count;
        if (first) putVarbitInt(out, value);
        else {
          const delta = value - this.#value[slot]!;
          putVarbitInt(out, delta - this.#delta[slot]!);
          this.#delta[slot] = delta;
        }
        this.#value[slot++] = value;
      }
    }
  }

  stale(out: BitWriter, first: boolean): void {
    putVarbitInt(out, 0);
    putVarbitInt(out, 0);
    if (first) this.#sum.start(out, staleHigh, staleLow);
    else this.#sum.write(out, staleHigh, staleLow);
  }
}

class FloatWriter implements CountWriter {
  readonly #count = new XorField();
  readonly #zero = new XorField();
  readonly #sum = new XorField();
  readonly #buckets: XorField[];

  constructor(buckets: number) {
    this.#buckets = Array.from({ length: buckets }, () => new XorField());
  }

  write(out: BitWriter, first: boolean, h: NativeHistogram, positive: readonly number[], negative: readonly number[]) {
    const put = (field: XorField, value: number): void =>
      first ? field.start(out, highBits(value), lowBits(value)) : field.write(out, highBits(value), lowBits(value));
    put(this.#count, h.count);
    put(this.#zero, h.zeroCount);
    put(this.#sum, h.sum);
    let slot = 0;
    for (const count of positive) put(this.#buckets[slot++]!, count);
    for (const count of negative) put(this.#buckets[slot++]!, count);
  }

  stale(out: BitWriter, first: boolean): void {
    for (const [field, high, low] of [
      [this.#count, 0, 0],
      [this.#zero, 0, 0],
      [this.#sum, staleHigh, staleLow],
    ] as const) {
      if (first) field.start(out, high, low);
      else field.write(out, high, low);
    }
  }
}
