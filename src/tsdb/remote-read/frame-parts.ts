import type { Chunk } from '../types.ts';
import { putSeriesFrame, seriesFrameLength } from './chunked-series.ts';

/** A part of an answer is passed on when it has this many bytes, so that other work gets a turn. */
const partBytes = 128 * 1024;
/** Room for the frame that fills a part; a larger frame makes the memory grow. */
const roomBytes = 32 * 1024;

/** Frames of a streamed answer, written one after the other into the memory of one part. */
export class FrameParts {
  readonly #reuses: boolean;
  #memory = Buffer.allocUnsafeSlow(partBytes + roomBytes);
  #length = 0;

  /** `reuses`: the next part overwrites the memory of the one before. */
  constructor(reuses: boolean) {
    this.#reuses = reuses;
  }

  get isFull(): boolean {
    return this.#length >= partBytes;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  add(labels: Uint8Array, chunks: readonly Chunk[], queryIndex: number): void {
    const needed = this.#length + seriesFrameLength(labels, chunks, queryIndex);
    if (needed > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(needed);
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    this.#length = putSeriesFrame(this.#memory, this.#length, labels, chunks, queryIndex);
  }

  /** The frames since the last part. */
  take(): Uint8Array {
    const part = this.#memory.subarray(0, this.#length);
    if (!this.#reuses) this.#memory = Buffer.allocUnsafeSlow(partBytes + roomBytes);
    this.#length = 0;
    return part;
  }
}
