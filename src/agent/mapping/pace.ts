import type { Stream } from './stream.ts';

/** Sets the intervals of series. A series of several streams uses the shortest of the streams' intervals. */
export class Pace {
  /** Whether a series has, or had, streams of different intervals since the last `settle`. */
  #uneven = false;

  /**
   * Sets the interval of the series that a stream was bound to. Where their streams have different intervals, the
   * interval only becomes shorter until `settle` is called, because a series does not know its streams.
   */
  join({ series, intervalMs }: Pick<Stream, 'series' | 'intervalMs'>): void {
    for (const s of series) {
      const isShared = s.streams > 1;
      if (isShared && s.intervalMs !== intervalMs) this.#uneven = true;
      s.intervalMs = isShared ? Math.min(s.intervalMs, intervalMs) : intervalMs;
    }
  }

  /** Raises the intervals that became longer since streams have left or have got other rules. */
  settle(streams: Iterable<Stream>): void {
    if (!this.#uneven) return;
    this.#uneven = false;
    for (const { series } of streams) for (const s of series) s.intervalMs = Infinity;
    for (const { series, intervalMs } of streams) {
      for (const s of series) {
        if (s.intervalMs !== Infinity && s.intervalMs !== intervalMs) this.#uneven = true;
        s.intervalMs = Math.min(s.intervalMs, intervalMs);
      }
    }
  }
}
