import type { Clock } from '../../base/clock.ts';

export interface DebounceOptions {
  /** The run begins this long after the last call. Units: ms. */
  quietMs: number;
  /** The run begins at most this long after the first call, even if calls go on. Units: ms. */
  maxMs: number;
}

/** Merges many calls into one run. `cancel` drops a pending run. */
export class Debounce {
  readonly #clock: Clock;
  readonly #options: DebounceOptions;
  readonly #run: () => void;
  #first: number | null = null;
  #cancel: () => void = () => {};

  constructor(clock: Clock, options: DebounceOptions, run: () => void) {
    this.#clock = clock;
    this.#options = options;
    this.#run = run;
  }

  call(): void {
    const now = this.#clock.monotonic();
    this.#first ??= now;
    const wait = Math.min(this.#options.quietMs, Math.max(0, this.#first + this.#options.maxMs - now));
    this.#cancel();
    this.#cancel = this.#clock.setTimeout(() => {
      this.#first = null;
      this.#run();
    }, wait);
  }

  cancel(): void {
    this.#cancel();
    this.#first = null;
  }
}
