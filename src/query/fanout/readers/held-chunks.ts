import type { DeferredSeries } from '../../../promql/index.ts';
import { decodeXorChunk, SampleBuffer } from '../../../tsdb/index.ts';
import type { Labels } from '../../../tsdb/index.ts';

/** A series whose chunks are kept as received, and decoded when the engine reads it. */
export interface HeldSeries extends DeferredSeries {
  /** Size of its chunks. Units: bytes. */
  readonly heldBytes: number;
}

const firstPageBytes = 4 * 1024;
const largestPageBytes = 64 * 1024;

/**
 * Packs the chunks of many series into few large buffers. Received chunks lie in the connection's buffers, which would
 * stay in memory with all the labels and frames around the chunks; a buffer for each chunk would cost more than the
 * chunk.
 */
export class HeldChunks {
  #page = new Uint8Array(0);
  #used = 0;
  readonly #buffer = new SampleBuffer();

  /** Copies the bytes into a buffer that is kept. */
  keep(bytes: Uint8Array): Uint8Array {
    if (this.#used + bytes.length > this.#page.length) {
      const next = Math.min(largestPageBytes, Math.max(firstPageBytes, this.#page.length * 2));
      this.#page = new Uint8Array(Math.max(next, bytes.length));
      this.#used = 0;
    }
    const kept = this.#page.subarray(this.#used, (this.#used += bytes.length));
    kept.set(bytes);
    return kept;
  }

  /**
   * A series of validated chunks. Its samples are valid until another series is read: all are decoded into one buffer.
   */
  series(labels: Labels, chunks: readonly Uint8Array[]): HeldSeries {
    const buffer = this.#buffer;
    return {
      labels,
      heldBytes: chunks.reduce((sum, bytes) => sum + bytes.length, 0),
      read: () => {
        buffer.length = 0;
        for (const bytes of chunks) decodeXorChunk(bytes, buffer);
        return buffer.view();
      },
    };
  }
}
