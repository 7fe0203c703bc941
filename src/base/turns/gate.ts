import { changeCount } from '../collections/counts.ts';

/** The waiting requests of one user, in the order they came. */
type Line = (() => void)[];

export interface Places {
  /** Maximum number of pieces of work of one user that run at a time. Default: the limit of the gate. */
  readonly perUser?: number;
  /**
   * How many may run beyond the limit, so that users with little or nothing running need not wait for the long work of
   * others. Default 0.
   */
  readonly beyond?: number;
}

/**
 * Lets at most `limit` pieces of work run at a time. Others wait in one line per user: a free place goes to the user
 * who has the fewest running, in turn among equals, so that a user with many requests delays only their own.
 * Running work is never suspended. Instead, up to `beyond` more pieces of work are admitted while all places are taken:
 * - A user's share is `limit / (users + 1)`. Three quarters of `beyond` are for users who have less than their share
 *   running, or nothing.
 * - The last quarter is only for users with nothing running.
 * Errors: `enter` rejects with the signal's reason when it aborts while waiting.
 */
export class Gate {
  #limit: number;
  readonly #placesOf: (limit: number) => Places;
  #places: Places;
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  /** The lines, in the order in which users with equally much running are served; no line is empty. */
  readonly #lines = new Map<string, Line>();

  constructor(limit: number, placesOf: (limit: number) => Places = () => ({})) {
    this.#limit = limit;
    this.#placesOf = placesOf;
    this.#places = placesOf(limit);
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves with the function that leaves the gate; calling it twice is harmless. */
  enter(signal?: AbortSignal, user = ''): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const admit = (): void => {
        signal?.removeEventListener('abort', onAbort);
        this.#count(user, 1);
        let left = false;
        resolve(() => {
          if (left) return;
          left = true;
          this.#count(user, -1);
          this.#admitAll();
        });
      };
      const onAbort = (): void => {
        const line = this.#lines.get(user)!;
        line.splice(line.indexOf(admit), 1);
        if (line.length === 0) this.#lines.delete(user);
        reject(signal!.reason as Error);
      };
      if (this.#hasPlace(user)) return admit();
      const line = this.#lines.get(user);
      if (line === undefined) this.#lines.set(user, [admit]);
      else line.push(admit);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Runs a task when there is a place for it. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const leave = await this.enter();
    try {
      return await task();
    } finally {
      leave();
    }
  }

  /** Sets another limit. If more than that is running, the work goes on to its end. */
  resize(limit: number): void {
    this.#limit = limit;
    this.#places = this.#placesOf(limit);
    this.#admitAll();
  }

  #hasPlace(user: string): boolean {
    const { perUser = Infinity, beyond = 0 } = this.#places;
    const running = this.#runningOf.get(user) ?? 0;
    if (running >= perUser) return false;
    if (this.#running < this.#limit) return true;
    if (running === 0) return this.#running < this.#limit + beyond;
    return running < this.#share(user) && this.#running < this.#limit + Math.floor(beyond * 0.75);
  }

  #share(user: string): number {
    const users = new Set([...this.#runningOf.keys(), ...this.#lines.keys(), user]).size;
    return Math.floor(this.#limit / (users + 1));
  }

  /** One departure can admit several: with the last work of a user, the shares of all others become larger. */
  #admitAll(): void {
    while (this.#admitNext());
  }

  /** True when one more was admitted. */
  #admitNext(): boolean {
    let next: string | undefined;
    let fewest = Infinity;
    for (const user of this.#lines.keys()) {
      const running = this.#runningOf.get(user) ?? 0;
      if (running >= fewest || !this.#hasPlace(user)) continue;
      fewest = running;
      next = user;
    }
    if (next === undefined) return false;
    const line = this.#lines.get(next)!;
    const admit = line.shift()!;
    // The user who has just been served comes last among users with equally much running.
    this.#lines.delete(next);
    if (line.length > 0) this.#lines.set(next, line);
    admit();
    return true;
  }

  #count(user: string, change: 1 | -1): void {
    this.#running += change;
    changeCount(this.#runningOf, user, change);
  }
}

/**
 * Places for work that may be long: one user has at most half of `limit`. Beyond the limit, up to `limit` more pieces
 * of work may run, for users with little or nothing running.
 */
export function fairPlaces(limit: number): Required<Places> {
  return { perUser: Math.max(Math.ceil(limit / 2), Math.min(limit, 2)), beyond: limit };
}
