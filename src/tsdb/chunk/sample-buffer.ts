import { highWord, isStale, lowWord } from './float-bits.ts';

/** Times in milliseconds and values, of equal length. */
export interface SampleColumns {
  readonly timestamps: Float64Array;
  readonly values: Float64Array;
}

/**
 * Samples as two columns that grow together. Times are doubles (ms). Values keep their exact bits, and so do stale
 * markers: detect a marker with `isStaleAt`, not by looking for a NaN.
 */
export class SampleBuffer {
  #times: Float64Array;
  #values: Float64Array;
  #words: Uint32Array;
  #view: SampleColumns | undefined;
  #viewed: Float64Array | undefined;
  length = 0;

  constructor(capacity = 128) {
    this.#times = new Float64Array(capacity);
    this.#values = new Float64Array(capacity);
    this.#words = new Uint32Array(this.#values.buffer);
  }

  /** The columns, which may be longer than `length`. They are replaced when the buffer grows: do not keep them. */
  get times(): Float64Array {
    return this.#times;
  }

  get values(): Float64Array {
    return this.#values;
  }

  /** The values' words: two for each, in machine order (`highWord`, `lowWord`). */
  get words(): Uint32Array {
    return this.#words;
  }

  highAt(i: number): number {
    return this.#words[2 * i + highWord]!;
  }

  lowAt(i: number): number {
    return this.#words[2 * i + lowWord]!;
  }

  isStaleAt(i: number): boolean {
    return isStale(this.highAt(i), this.lowAt(i));
  }

  pushBits(t: number, high: number, low: number): void {
    this.reserve(1);
    this.setBits(this.length++, t, high, low);
  }

  /** Overwrites sample `i`. */
  setBits(i: number, t: number, high: number, low: number): void {
    this.#times[i] = t;
    this.#words[2 * i + highWord] = high;
    this.#words[2 * i + lowWord] = low;
  }

  /** Makes room for `extra` more samples. */
  reserve(extra: number): void {
    const need = this.length + extra;
    if (need <= this.#times.length) return;
    const capacity = Math.max(need, this.#times.length * 2);
    const times = new Float64Array(capacity);
    const words = new Uint32Array(capacity * 2);
    times.set(this.#times);
    words.set(this.#words);
    this.#times = times;
    this.#words = words;
    this.#values = new Float64Array(words.buffer);
  }

  /**
   * Views of the columns without the free space after them. Returns the same object until the buffer moves or grows.
   * The views' content changes with the buffer.
   */
  view(): SampleColumns {
    if (this.#view?.timestamps.length !== this.length || this.#viewed !== this.#times) {
      this.#viewed = this.#times;
      this.#view = {
        timestamps: this.#times.subarray(0, this.length),
        values: this.#values.subarray(0, this.length),
      };
    }
    return this.#view;
  }

  /** Copies of the columns' part [from, to), bit for bit. */
  slice(from = 0, to = this.length): SampleColumns {
    const words = this.#words.slice(2 * from, 2 * to);
    return { timestamps: this.#times.slice(from, to), values: new Float64Array(words.buffer) };
  }
}
