import { changeCount } from './counts.ts';

/** A limit of what requests hold at a time. */
export interface SharedLimit {
  /** All requests together. */
  readonly all: number;
  /** Those of one caller. */
  readonly ofOne: number;
}

/** The requests in hand leave no room for one more. */
export class Crowded extends Error {}

/**
 * What requests hold of something, by caller.
 * Guarantees: all together hold no more than the limit, and one caller leaves room for others.
 */
export class Share {
  readonly #limit: SharedLimit;
  readonly #byCaller = new Map<string, number>();
  #held = 0;

  constructor(limit: SharedLimit) {
    this.#limit = limit;
  }

  /** Errors: Crowded; nothing is taken then. */
  take(caller: string, amount: number): void {
    const { all, ofOne } = this.#limit;
    const own = (this.#byCaller.get(caller) ?? 0) + amount;
    if (own > ofOne || this.#held + amount > all) throw new Crowded('too many requests at a time');
    this.#held += amount;
    changeCount(this.#byCaller, caller, amount);
  }

  give(caller: string, amount: number): void {
    this.#held -= amount;
    changeCount(this.#byCaller, caller, -amount);
  }
}
