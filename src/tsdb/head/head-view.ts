import { decodeMarked, recutChunk } from '../chunk/index.ts';
import type { SampleBuffer } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import type { Chunk } from '../types.ts';
import { noChunk } from './chunk-table.ts';
import type { FoundSlots } from './found-slots.ts';
import { grown } from './grown.ts';
import type { HeadSeries } from './head-series.ts';

/**
 * A consistent view of some series of the head: later appends do not change it, not even those of late samples.
 * It holds a few numbers for each series; chunks are copied, or floats decoded in place, on demand. It must be closed,
 * or the head's memory is never reused.
 */
export class HeadView {
  readonly #series: HeadSeries;
  readonly #found: FoundSlots;
  readonly #slots: readonly number[];
  readonly #mint: number;
  readonly #maxt: number;
  readonly #edits: number;
  /** Finished chunks of series i: ids[starts[i]] … ids[starts[i + 1] − 1]. */
  readonly #starts: Uint32Array;
  #ids = new Int32Array(64);
  /** The open chunk of floats of each series, as it was when the view began. Count 0: none. */
  readonly #open: {
    address: Uint32Array;
    minT: Float64Array;
    maxT: Float64Array;
    count: Uint16Array;
    bits: Uint32Array;
  };
  readonly #histograms = new Map<number, Chunk>();
  #leave: (() => void) | undefined;

  constructor(series: HeadSeries, found: FoundSlots, mint: number, maxt: number) {
    this.#series = series;
    const { slots } = found;
    this.#found = found;
    this.#slots = slots;
    this.#mint = mint;
    this.#maxt = maxt;
    this.#leave = series.epochs.enter();
    this.#edits = series.marks.edits;
    const n = slots.length;
    this.#starts = new Uint32Array(n + 1);
    this.#open = {
      address: new Uint32Array(n),
      minT: new Float64Array(n),
      maxT: new Float64Array(n),
      count: new Uint16Array(n),
      bits: new Uint32Array(n),
    };
    let used = 0;
    const { chunks } = series;
    for (let i = 0; i < n; i++) {
      const slot = slots[i]!;
      for (let id = series.first[slot]!; id !== noChunk; id = chunks.next[id]!) {
        if (chunks.minT[id]! > maxt || chunks.maxT[id]! < mint) continue;
        if (used === this.#ids.length) this.#ids = grown(this.#ids, used * 2);
        this.#ids[used++] = id;
      }
      this.#starts[i + 1] = used;
      if (series.isOpen(slot) && series.openMinT(slot) <= maxt && series.maxT(slot) >= mint) this.#captureOpen(i, slot);
    }
  }

  get isOpen(): boolean {
    return this.#leave !== undefined;
  }

  /** Errors: RangeError once the view is closed. */
  assertOpen(): void {
    if (!this.#leave) throw new RangeError('series of a finished selection: read them before it ends');
  }

  get size(): number {
    return this.#slots.length;
  }

  labels(i: number): Labels {
    return this.#found.labels(i);
  }

  slot(i: number): number {
    return this.#slots[i]!;
  }

  hasChunks(i: number): boolean {
    return this.#starts[i + 1]! > this.#starts[i]! || this.#open.count[i]! > 0 || this.#histograms.has(i);
  }

  /**
   * Whether a sample of the series lies in the view's range. The first and the last sample of a chunk have its `minT`
   * and `maxT`: a chunk is decoded only when both are outside the range, one before and one after it.
   */
  hasSamples(i: number): boolean {
    const { minT, maxT } = this.#series.chunks;
    for (let k = this.#starts[i]!; k < this.#starts[i + 1]!; k++) {
      const id = this.#ids[k]!;
      if (minT[id]! >= this.#mint || maxT[id]! <= this.#maxt) return true;
    }
    const open = this.#open;
    if (open.count[i]! > 0 && (open.minT[i]! >= this.#mint || open.maxT[i]! <= this.#maxt)) return true;
    return (
      this.hasChunks(i) && this.lentChunks(i).some((chunk) => recutChunk(chunk, this.#mint, this.#maxt) !== undefined)
    );
  }

  /** Ends the view: its memory may be reused. */
  close(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  /** How many samples the chunks of series i hold. */
  sampleCount(i: number): number {
    let count = this.#open.count[i]! + (this.#histograms.get(i)?.count ?? 0);
    for (let k = this.#starts[i]!; k < this.#starts[i + 1]!; k++) count += this.#series.chunks.count(this.#ids[k]!);
    return count;
  }

  isFloats(i: number): boolean {
    for (let k = this.#starts[i]!; k < this.#starts[i + 1]!; k++) {
      if (!this.#series.chunks.isFloats(this.#ids[k]!)) return false;
    }
    return !this.#histograms.has(i);
  }

  /** Appends the floats of series i from `mint` on to `out`. Errors: as `chunks`. */
  decode(i: number, mint: number, out: SampleBuffer): void {
    this.assertOpen();
    const { chunks, slab, marks, xor } = this.#series;
    const slot = this.#slots[i]!;
    const states = this.#edits === marks.edits ? marks.states(xor.capacity) : null;
    for (let k = this.#starts[i]!; k < this.#starts[i + 1]!; k++) {
      const id = this.#ids[k]!;
      decodeMarked(chunks.place(id), chunks.minT[id]!, mint, out, states, slot);
    }
    const open = this.#open;
    const count = open.count[i]!;
    if (count === 0) return;
    const address = open.address[i]!;
    const place = {
      page: slab.page(address),
      view: slab.view(address),
      at: slab.offset(address),
      bits: open.bits[i]!,
      count,
    };
    decodeMarked(place, open.minT[i]!, mint, out, states, slot);
  }

  /** Copies of the chunks, in time order. Errors: RangeError once the view is closed, when the memory may be reused. */
  chunks(i: number): Chunk[] {
    return this.#chunksBy(i, (id) => this.#series.chunks.get(id));
  }

  /** Like `chunks`, but finished chunks are not copied: their bytes stay valid until the view is closed. */
  lentChunks(i: number): Chunk[] {
    return this.#chunksBy(i, (id) => this.#series.chunks.lend(id));
  }

  #chunksBy(i: number, finished: (id: number) => Chunk): Chunk[] {
    this.assertOpen();
    const found: Chunk[] = [];
    for (let k = this.#starts[i]!; k < this.#starts[i + 1]!; k++) found.push(finished(this.#ids[k]!));
    const histograms = this.#histograms.get(i);
    if (histograms) found.push(histograms);
    const count = this.#open.count[i]!;
    if (count > 0) {
      const bits = this.#open.bits[i]!;
      const bytes = this.#series.slab.read(this.#open.address[i]!, (bits + 7) >>> 3);
      bytes[0] = count >>> 8;
      bytes[1] = count;
      // The last byte also holds bits of later samples.
      if ((bits & 7) !== 0) bytes[bytes.length - 1]! &= 0xff << (8 - (bits & 7));
      found.push({ encoding: 1, minT: this.#open.minT[i]!, maxT: this.#open.maxT[i]!, count, bytes });
    }
    return found;
  }

  #captureOpen(i: number, slot: number): void {
    const series = this.#series;
    if (!series.hasOpenFloats(slot)) {
      // A chunk of histograms may be rewritten at any time: its bytes are copied now.
      return void this.#histograms.set(i, series.histograms.get(slot)!.appender.chunk());
    }
    this.#open.address[i] = series.openAddress[slot]!;
    this.#open.minT[i] = series.xor.minT(slot);
    this.#open.maxT[i] = series.xor.maxT(slot);
    this.#open.count[i] = series.xor.count(slot);
    this.#open.bits[i] = series.xor.bits(slot);
  }
}
