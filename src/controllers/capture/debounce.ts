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
  #last = 0;
  #cancel: () => void = () => {};

  constructor(clock: Clock, options: DebounceOptions, run: () => void) {
    this.#clock = clock;
    this.#options = options;
    this.#run = run;
  }

  call(): void {
    this.#last = this.#clock.monotonic();
    if (this.#first !== null) return;
    this.#first = this.#last;
    this.#wait(this.#last);
  }

  /** One timer serves many calls: when it ends too early because of calls in between, it is set again for the rest. */
  #wait(now: number): void {
    const { quietMs, maxMs } = this.#options;
    const at = Math.min(this.#last + quietMs, this.#first! + maxMs);
    this.#cancel = this.#clock.setTimeout(() => this.#ended(at), Math.max(0, at - now));
  }

  #ended(at: number): void {
    const { quietMs, maxMs } = this.#options;
    if (Math.min(this.#last + quietMs, this.#first! + maxMs) > at) return this.#wait(this.#clock.monotonic());
    this.#first = null;
    this.#run();
  }

  cancel(): void {
    this.#cancel();
    this.#first = null;
  }
}
