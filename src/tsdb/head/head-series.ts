import { rangeEnd } from '../block-range.ts';
import { encodeChunks, sealed, SampleBuffer, samplesPerChunk, XorAppender, decodeXorChunk } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import type { AppendResult, XorChunk } from '../types.ts';

/** A late sample may lengthen a chunk up to this many samples before it is split. */
const splitAbove = samplesPerChunk * 2;

/** One moment of a series: later appends do not change what it reads. */
export interface SeriesMoment {
  readonly finished: readonly XorChunk[];
  readonly finishedCount: number;
  readonly open: XorAppender | undefined;
  readonly openCount: number;
  readonly openBits: number;
  readonly openMaxT: number;
}

/**
 * One series in the head: finished chunks and one that is being written. No chunk crosses the end of an aligned
 * block range, so a range can be moved into a block without re-encoding.
 */
export class HeadSeries {
  readonly ref: number;
  readonly labels: Labels;
  /** Ascending. Appended to in place, otherwise replaced: a moment holds the array and its length. */
  #finished: XorChunk[] = [];
  #open: XorAppender | undefined;
  /** Times from here on belong to the next chunk. */
  #openEnd = 0;
  /** Set when the series left the head: a cached reference to it must be looked up again. */
  gone = false;

  constructor(ref: number, labels: Labels) {
    this.ref = ref;
    this.labels = labels;
  }

  get empty(): boolean {
    return this.#open === undefined && this.#finished.length === 0;
  }

  get minT(): number {
    return this.#finished[0]?.minT ?? this.#open?.minT ?? Infinity;
  }

  get maxT(): number {
    return this.#open?.maxT ?? this.#finished.at(-1)?.maxT ?? -Infinity;
  }

  /** Bits of the newest sample, while its chunk is open. */
  get last(): { high: number; low: number } | undefined {
    if (this.#open) return { high: this.#open.lastHigh, low: this.#open.lastLow };
    const chunk = this.#finished.at(-1);
    if (!chunk) return undefined;
    const samples = decoded(chunk);
    return { high: samples.highAt(samples.length - 1), low: samples.lowAt(samples.length - 1) };
  }

  append(t: number, high: number, low: number, outOfOrderMs: number): AppendResult {
    const open = this.#open;
    if (open && t > open.maxT) {
      if (open.count < samplesPerChunk && t < this.#openEnd) {
        open.appendBits(t, high, low);
        return 'appended';
      }
      this.#finishOpen();
    } else if (t <= this.maxT) {
      return t < this.maxT - outOfOrderMs ? 'late' : this.#insert(t, high, low);
    }
    this.#open = new XorAppender();
    this.#openEnd = rangeEnd(t);
    this.#open.appendBits(t, high, low);
    return 'appended';
  }

  /** Takes over a chunk from a checkpoint; chunks come in order. */
  restore(chunk: XorChunk): void {
    this.#finishOpen();
    this.#finished.push(chunk);
  }

  moment(): SeriesMoment {
    const open = this.#open;
    return {
      finished: this.#finished,
      finishedCount: this.#finished.length,
      open,
      openCount: open?.count ?? 0,
      openBits: open?.bitLength ?? 0,
      openMaxT: open?.maxT ?? -Infinity,
    };
  }

  /** Finishes an open chunk that lies before `end`, and gives all chunks before it. */
  chunksBefore(end: number): XorChunk[] {
    if (this.#open && this.#open.minT < end) this.#finishOpen();
    return this.#finished.filter((chunk) => chunk.minT < end);
  }

  /** Lets go of the chunks before `end`. */
  dropBefore(end: number): void {
    if (this.#finished.length > 0) this.#finished = this.#finished.filter((chunk) => chunk.minT >= end);
  }

  #finishOpen(): void {
    if (!this.#open) return;
    this.#finished.push(sealed(this.#open));
    this.#open = undefined;
  }

  /** Puts a sample among older ones: the chunk it belongs to is written anew. */
  #insert(t: number, high: number, low: number): AppendResult {
    if (this.#open && t >= this.#open.minT) {
      const samples = new SampleBuffer(this.#open.count + 1);
      decodeXorChunk(this.#open.bytes(), samples);
      const result = insertSorted(samples, t, high, low);
      if (result !== 'appended') return result;
      const open = new XorAppender(samples.length * 3 + 32);
      for (let i = 0; i < samples.length; i++) open.appendBits(samples.times[i]!, samples.highAt(i), samples.lowAt(i));
      this.#open = open;
      return result;
    }
    let at = this.#finished.length - 1;
    while (at >= 0 && this.#finished[at]!.minT > t) at--;
    const chunk = this.#finished[at];
    const samples = chunk && t < rangeEnd(chunk.minT) ? decoded(chunk) : new SampleBuffer(1);
    const replaced = samples.length > 0 ? 1 : 0;
    const result = insertSorted(samples, t, high, low);
    if (result !== 'appended') return result;
    const perChunk = samples.length > splitAbove ? Math.ceil(samples.length / 2) : samples.length;
    this.#finished = this.#finished.toSpliced(
      replaced ? at : at + 1,
      replaced,
      ...encodeChunks(samples, 0, samples.length, perChunk),
    );
    return result;
  }
}

/** The chunks of a moment that overlap [mint, maxt]. */
export function momentChunks(moment: SeriesMoment, mint: number, maxt: number): XorChunk[] {
  const chunks: XorChunk[] = [];
  for (let i = 0; i < moment.finishedCount; i++) {
    const chunk = moment.finished[i]!;
    if (chunk.minT <= maxt && chunk.maxT >= mint) chunks.push(chunk);
  }
  const { open, openCount, openBits, openMaxT } = moment;
  if (open && openCount > 0 && open.minT <= maxt && openMaxT >= mint) {
    chunks.push({ minT: open.minT, maxT: openMaxT, count: openCount, bytes: open.bytes(openCount, openBits) });
  }
  return chunks;
}

function decoded(chunk: XorChunk): SampleBuffer {
  const samples = new SampleBuffer(chunk.count + 1);
  decodeXorChunk(chunk.bytes, samples);
  return samples;
}

function insertSorted(samples: SampleBuffer, t: number, high: number, low: number): AppendResult {
  let at = samples.length;
  while (at > 0 && samples.times[at - 1]! > t) at--;
  if (at > 0 && samples.times[at - 1] === t) {
    return samples.highAt(at - 1) === high && samples.lowAt(at - 1) === low ? 'duplicate' : 'conflict';
  }
  samples.pushBits(t, high, low);
  samples.times.copyWithin(at + 1, at, samples.length - 1);
  samples.words.copyWithin(2 * at + 2, 2 * at, 2 * samples.length - 2);
  samples.setBits(at, t, high, low);
  return 'appended';
}
