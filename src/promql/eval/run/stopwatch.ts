/**
 * Measures the phases of one evaluation.
 * Precondition: an evaluation waits for one thing at a time, so its waits do not overlap.
 * Units: milliseconds. Without a clock all results are 0.
 */
export class Stopwatch {
  readonly #monotonic: () => number;
  readonly #started: number;
  #waited = 0;
  #sorted = 0;

  /** Starts the measurement. */
  constructor(monotonic: () => number = () => 0) {
    this.#monotonic = monotonic;
    this.#started = monotonic();
  }

  /** Times a wait for others, which is not the evaluation's own time. */
  async waiting<T>(data: Promise<T>): Promise<T> {
    const from = this.#monotonic();
    try {
      return await data;
    } finally {
      this.#waited += this.#monotonic() - from;
    }
  }

  /** Times the sorting of the result. */
  async sorting<T>(sort: () => Promise<T>): Promise<T> {
    const from = this.#monotonic();
    const sorted = await sort();
    this.#sorted += this.#monotonic() - from;
    return sorted;
  }

  /** The time since the start without waiting and sorting, and the time of sorting. */
  read(): { readonly evaluationMs: number; readonly sortMs: number } {
    const evaluationMs = this.#monotonic() - this.#started - this.#waited - this.#sorted;
    return { evaluationMs: Math.max(0, evaluationMs), sortMs: this.#sorted };
  }
}
