import { rangeEnd } from '../block-range.ts';
import {
  decodePoints,
  encodePoints,
  encodeXor,
  HistogramAppender,
  headerFor,
  highWord,
  isStale,
  lowWord,
  maxSampleBytes,
  sameHistogram,
  samplesPerChunk,
  XorStates,
} from '../chunk/index.ts';
import type { NativeHistogram, Point } from '../chunk/index.ts';
import type { AppendResult, Chunk } from '../types.ts';
import { ChunkTable, noChunk } from './chunk-table.ts';
import { chunkEndTime, histogramIsFull, type OpenHistograms } from './chunk-end.ts';
import { grown } from './grown.ts';
import { ReadEpochs } from './read-epochs.ts';
import { ReaderMarks } from './reader-marks.ts';
import { Slab } from './slab.ts';

/** A late sample may lengthen a chunk up to this many samples before it is split. */
const splitAbove = samplesPerChunk * 2;
/** A chunk of floats takes no further sample above this size, as in Prometheus. */
const maxXorBytes = 1024 - 19;
/**
 * The first size of an open chunk, and how much it grows by when it is full. The steps are small, because there may be
 * fifty thousand open chunks, each of which has up to a step of unused memory.
 */
const firstOpenBytes = 96;
const growBytes = 64;

const closed = 0;
const openFloats = 1;
const openHistograms = 2;

/** The sample being written. It is passed in typed arrays, so that its numbers need no objects. */
const oneTime = new Float64Array(1);
const oneValue = new Uint32Array(2);

/**
 * The samples of all series of the head. Each series has a slot (its number), a list of finished chunks and at most one
 * open chunk. Chunks are cut where Prometheus cuts them, and none crosses the end of an aligned block range, so that a
 * range can be moved into a block without encoding it again.
 */
export class HeadSeries {
  readonly slab = new Slab();
  readonly epochs = new ReadEpochs();
  readonly chunks = new ChunkTable(this.slab);
  readonly xor = new XorStates(1024);
  readonly marks = new ReaderMarks();
  readonly histograms = new Map<number, OpenHistograms>();
  first = new Int32Array(1024).fill(noChunk);
  #last = new Int32Array(1024).fill(noChunk);
  #kind = new Uint8Array(1024);
  /** The open chunk of floats: its bytes, their size, and the time at which the next chunk begins. */
  openAddress = new Uint32Array(1024);
  #openSize = new Uint32Array(1024);
  #openEnd = new Float64Array(1024);

  /** Initialises slot `slot` as empty. */
  clear(slot: number): void {
    if (slot >= this.#kind.length) this.#grow(Math.max(slot + 1, this.#kind.length * 2));
    this.#kind[slot] = closed;
    this.first[slot] = noChunk;
    this.#last[slot] = noChunk;
    this.marks.forget(slot);
  }

  isEmpty(slot: number): boolean {
    return this.#kind[slot] === closed && this.first[slot] === noChunk;
  }

  isOpen(slot: number): boolean {
    return this.#kind[slot] !== closed;
  }

  hasOpenFloats(slot: number): boolean {
    return this.#kind[slot] === openFloats;
  }

  minT(slot: number): number {
    const first = this.first[slot]!;
    return first === noChunk ? this.openMinT(slot) : this.chunks.minT[first]!;
  }

  maxT(slot: number): number {
    const kind = this.#kind[slot];
    if (kind === openFloats) return this.xor.maxT(slot);
    if (kind === openHistograms) return this.histograms.get(slot)!.appender.maxT;
    const last = this.#last[slot]!;
    return last === noChunk ? -Infinity : this.chunks.maxT[last]!;
  }

  /** First time of the open chunk; Infinity when there is none. */
  openMinT(slot: number): number {
    const kind = this.#kind[slot];
    if (kind === openFloats) return this.xor.minT(slot);
    return kind === openHistograms ? this.histograms.get(slot)!.appender.minT : Infinity;
  }

  /** The newest sample. */
  newest(slot: number): Point | undefined {
    if (this.#kind[slot] === openFloats) {
      return { t: this.xor.maxT(slot), high: this.xor.high(slot), low: this.xor.low(slot) };
    }
    const open = this.histograms.get(slot);
    const chunk = open
      ? open.appender.chunk()
      : this.#last[slot] === noChunk
        ? undefined
        : this.chunks.get(this.#last[slot]!);
    return chunk && decodePoints(chunk).at(-1);
  }

  append(slot: number, t: number, high: number, low: number, outOfOrderMs: number): AppendResult {
    const kind = this.#kind[slot];
    if (kind === openFloats) {
      const last = this.xor.maxT(slot);
      if (t <= last) return this.#late(slot, { t, high, low }, last, outOfOrderMs);
      if (!this.#floatsAreFull(slot, t, last)) {
        this.#writeFloat(slot, t, high, low);
        return 'appended';
      }
    } else {
      const last = this.maxT(slot);
      if (t <= last) return this.#late(slot, { t, high, low }, last, outOfOrderMs);
      if (kind === openHistograms && isStale(high, low)) return this.#appendHistogram(slot, t, null);
    }
    this.finishOpen(slot);
    this.#beginFloats(slot, t);
    this.#writeFloat(slot, t, high, low);
    return 'appended';
  }

  appendHistogram(slot: number, t: number, histogram: NativeHistogram, outOfOrderMs: number): AppendResult {
    const last = this.maxT(slot);
    if (t <= last) return this.#late(slot, { t, high: 0, low: 0, histogram }, last, outOfOrderMs);
    return this.#appendHistogram(slot, t, histogram);
  }

  /** Appends a finished chunk after all others. */
  restore(slot: number, chunk: Chunk): void {
    this.finishOpen(slot);
    this.#link(slot, this.chunks.add(chunk));
  }

  /** Ends the open chunk, if there is one. */
  finishOpen(slot: number): void {
    const kind = this.#kind[slot];
    if (kind === closed) return;
    this.#kind[slot] = closed;
    if (kind === openHistograms) {
      this.#link(slot, this.chunks.add(this.histograms.get(slot)!.appender.chunk()));
      this.histograms.delete(slot);
      return;
    }
    const { xor, slab } = this;
    const length = xor.byteLength(slot);
    const bytes = slab.read(this.openAddress[slot]!, length);
    xor.putCount(slot, bytes);
    this.#freeOpen(slot);
    const facts = { encoding: 1, minT: xor.minT(slot), maxT: xor.maxT(slot), count: xor.count(slot) } as const;
    this.#link(slot, this.chunks.adopt(facts, slab.store(bytes), length));
  }

  /** Drops the chunks before `end`. Assumptions: no chunk crosses `end`, and no open chunk begins before `end`. */
  dropBefore(slot: number, end: number, dropped: number[]): void {
    let id = this.first[slot]!;
    while (id !== noChunk && this.chunks.minT[id]! < end) {
      dropped.push(id);
      id = this.chunks.next[id]!;
    }
    this.first[slot] = id;
    if (id === noChunk) this.#last[slot] = noChunk;
  }

  /** Removes the samples in [mint, maxt]; true when there were any. */
  deleteRange(slot: number, mint: number, maxt: number): boolean {
    if (this.openMinT(slot) <= maxt && this.maxT(slot) >= mint) this.finishOpen(slot);
    let changed = false;
    const ids = this.list(slot);
    const kept: number[] = [];
    for (const id of ids) {
      if (this.chunks.minT[id]! > maxt || this.chunks.maxT[id]! < mint) {
        kept.push(id);
        continue;
      }
      const points = decodePoints(this.chunks.get(id));
      const rest = points.filter(({ t }) => t < mint || t > maxt);
      if (rest.length === points.length) {
        kept.push(id);
        continue;
      }
      changed = true;
      for (const chunk of encodePoints(rest, splitAbove)) kept.push(this.chunks.add(chunk));
      this.epochs.retire(() => this.chunks.release(id));
    }
    if (changed) {
      this.marks.forget(slot);
      this.#relink(slot, kept);
    }
    return changed;
  }

  /** The finished chunks, in time order. */
  list(slot: number): number[] {
    const ids: number[] = [];
    for (let id = this.first[slot]!; id !== noChunk; id = this.chunks.next[id]!) ids.push(id);
    return ids;
  }

  #link(slot: number, id: number): void {
    const last = this.#last[slot]!;
    if (last === noChunk) this.first[slot] = id;
    else this.chunks.next[last] = id;
    this.#last[slot] = id;
  }

  #relink(slot: number, ids: readonly number[]): void {
    this.first[slot] = noChunk;
    this.#last[slot] = noChunk;
    for (const id of ids) {
      this.chunks.next[id] = noChunk;
      this.#link(slot, id);
    }
  }

  #floatsAreFull(slot: number, t: number, last: number): boolean {
    const count = this.xor.count(slot);
    if (count === samplesPerChunk / 4) {
      this.#openEnd[slot] = chunkEndTime(this.xor.minT(slot), last, this.#openEnd[slot]!, 4);
    }
    return t >= this.#openEnd[slot]! || count >= splitAbove || this.xor.byteLength(slot) > maxXorBytes;
  }

  #beginFloats(slot: number, t: number): void {
    this.#kind[slot] = openFloats;
    this.xor.reset(slot);
    this.openAddress[slot] = this.slab.alloc(firstOpenBytes);
    this.#openSize[slot] = firstOpenBytes;
    this.#openEnd[slot] = rangeEnd(t);
  }

  #writeFloat(slot: number, t: number, high: number, low: number): void {
    const { xor, slab } = this;
    const length = xor.byteLength(slot);
    if (length + maxSampleBytes > this.#openSize[slot]!) this.#growOpen(slot, length);
    const address = this.openAddress[slot]!;
    oneTime[0] = t;
    oneValue[highWord] = high;
    oneValue[lowWord] = low;
    encodeXor(xor, slot, slab.view(address), slab.offset(address), oneTime, oneValue, 0, 1);
  }

  #growOpen(slot: number, length: number): void {
    const size = this.#openSize[slot]!;
    const larger = size + growBytes;
    const address = this.slab.alloc(larger);
    this.slab.copy(this.openAddress[slot]!, address, length);
    this.#freeOpen(slot);
    this.openAddress[slot] = address;
    this.#openSize[slot] = larger;
  }

  #freeOpen(slot: number): void {
    const address = this.openAddress[slot]!;
    const size = this.#openSize[slot]!;
    this.epochs.retire(() => this.slab.free(address, size));
  }

  #appendHistogram(slot: number, t: number, h: NativeHistogram | null): AppendResult {
    let open = this.histograms.get(slot);
    const before = open?.appender;
    let refused = false;
    if (open && h && open.appender.kind !== h.kind) open = undefined;
    if (open && histogramIsFull(open, t)) open = undefined;
    if (open && !open.appender.fit(h).ok) {
      refused = true;
      open = undefined;
    }
    if (!open) {
      this.finishOpen(slot);
      const kind = h?.kind ?? before!.kind;
      const appender = new HistogramAppender(kind, headerFor(h, before, refused));
      open = { appender, rangeEnd: rangeEnd(t), end: rangeEnd(t), predicted: false };
      this.histograms.set(slot, open);
      this.#kind[slot] = openHistograms;
    }
    open.appender.append(t, h);
    return 'appended';
  }

  /** Inserts a sample among older ones: its chunk is rewritten. */
  #late(slot: number, point: Point, last: number, outOfOrderMs: number): AppendResult {
    if (point.t < last - outOfOrderMs) return 'late';
    if (this.#kind[slot] === openFloats && !point.histogram && point.t >= this.xor.minT(slot)) {
      return this.#insertIntoOpen(slot, point);
    }
    if (point.t >= this.openMinT(slot)) this.finishOpen(slot);
    const ids = this.list(slot);
    let at = ids.length - 1;
    while (at >= 0 && this.chunks.minT[ids[at]!]! > point.t) at--;
    const near = at >= 0 && point.t < rangeEnd(this.chunks.minT[ids[at]!]!);
    const points = near ? decodePoints(this.chunks.get(ids[at]!)) : [];
    const result = insertSorted(points, point);
    if (result !== 'appended') return result;
    this.marks.forget(slot);
    const perChunk = points.length > splitAbove ? Math.ceil(points.length / 2) : points.length;
    const added = encodePoints(points, perChunk).map((chunk) => this.chunks.add(chunk));
    const replaced = near ? ids[at]! : undefined;
    ids.splice(near ? at : at + 1, near ? 1 : 0, ...added);
    this.#relink(slot, ids);
    if (replaced !== undefined) this.epochs.retire(() => this.chunks.release(replaced));
    return result;
  }

  #insertIntoOpen(slot: number, point: Point): AppendResult {
    const { xor, slab } = this;
    const bytes = slab.read(this.openAddress[slot]!, xor.byteLength(slot));
    xor.putCount(slot, bytes);
    const count = xor.count(slot);
    const points = decodePoints({ encoding: 1, minT: 0, maxT: 0, count, bytes });
    const result = insertSorted(points, point);
    if (result !== 'appended') return result;
    this.marks.forget(slot);
    // Rewritten in new memory: readers may still use the old one.
    const end = this.#openEnd[slot]!;
    this.#freeOpen(slot);
    this.#beginFloats(slot, points[0]!.t);
    this.#openEnd[slot] = end;
    for (const { t, high, low } of points) this.#writeFloat(slot, t, high, low);
    return result;
  }

  #grow(capacity: number): void {
    this.xor.grow(capacity);
    this.first = grown(this.first, capacity);
    this.#last = grown(this.#last, capacity);
    this.#kind = grown(this.#kind, capacity);
    this.openAddress = grown(this.openAddress, capacity);
    this.#openSize = grown(this.#openSize, capacity);
    this.#openEnd = grown(this.#openEnd, capacity);
  }
}

function insertSorted(points: Point[], point: Point): AppendResult {
  let at = points.length;
  while (at > 0 && points[at - 1]!.t > point.t) at--;
  const same = points[at - 1];
  if (same?.t === point.t) return samePoint(same, point) ? 'duplicate' : 'conflict';
  points.splice(at, 0, point);
  return 'appended';
}

function samePoint(a: Point, b: Point): boolean {
  if (a.histogram || b.histogram) return !!a.histogram && !!b.histogram && sameHistogram(a.histogram, b.histogram);
  return a.high >>> 0 === b.high >>> 0 && a.low >>> 0 === b.low >>> 0;
}
