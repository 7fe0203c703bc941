/**
 * The query server's clock, learnt from the `Date` header of its answers. The browser's clock may be wrong, and with it
 * every time range that ends now.
 */

/** The header has whole seconds and takes a while to arrive: a smaller difference counts as none. Unit: ms. */
const unseenMs = 2_000;
/** An answer that took longer may have been read late, as after the laptop slept: its time has passed. Unit: ms. */
const freshMs = 5_000;
/** The user is told about a difference from the first of these on, and until it is less than the second. Units: ms. */
const toldMs = 30_000;
const untoldMs = 28_000;
/** What is told is rounded. It stays until the difference is further off than rounding and scatter. Units: ms. */
const roundedToMs = 10_000;
const scatterMs = 1_000;

/** The query server's clock as a browser's page knows it. `browserNow`: the browser's clock. Units: ms since the epoch. */
export class ServerClock {
  readonly #listeners = new Set<() => void>();
  readonly #browserNow: () => number;
  /** How far the server is ahead of the browser; undefined before the first answer. Unit: ms. */
  #aheadMs: number | undefined;
  /** The difference that the user is told about, as `browserAhead` has it. Unit: ms. */
  #told = 0;

  constructor(browserNow: () => number) {
    this.#browserNow = browserNow;
  }

  /**
   * Learns from an answer that has just arrived; a slow one is better than none, but changes nothing later. Nor does
   * one without the header, as of some proxies. `sentAtMs`: when it was asked for, by the browser's clock.
   */
  learn({ headers }: Response, sentAtMs: number): void {
    const arrivedAtMs = this.#browserNow();
    if (this.isKnown && arrivedAtMs - sentAtMs > freshMs) return;
    const before = this.#told;
    // Its seconds are cut off: on average half of one has passed since.
    const seen = Date.parse(headers.get('date') ?? '') + 500 - arrivedAtMs;
    this.#aheadMs = Number.isNaN(seen) ? (this.#aheadMs ?? 0) : Math.abs(seen) < unseenMs ? 0 : seen;
    this.#told = toldAfter(before, -this.#aheadMs);
    if (this.#told !== before) for (const listener of this.#listeners) listener();
  }

  /** Whether an answer has arrived. */
  get isKnown(): boolean {
    return this.#aheadMs !== undefined;
  }

  /** Now by the server's clock as far as it is known. Unit: ms since the epoch. */
  now(): number {
    return this.#browserNow() + (this.#aheadMs ?? 0);
  }

  /**
   * How far the browser's clock is ahead of the server's, to about 10 s; negative if it is behind, 0 if that is too
   * little to tell. Unit: ms.
   */
  get browserAhead(): number {
    return this.#told;
  }

  /** Calls `listener` when `browserAhead` changes. Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The clock of the page's query server. */
export const serverClock = new ServerClock(() => Date.now());

/** What is told of a difference after `before` was told of an earlier one. Units: ms. */
function toldAfter(before: number, ahead: number): number {
  if (Math.abs(ahead) < (before === 0 ? toldMs : untoldMs)) return 0;
  if (Math.abs(ahead - before) <= roundedToMs / 2 + scatterMs) return before;
  return Math.round(ahead / roundedToMs) * roundedToMs;
}
