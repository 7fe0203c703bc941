/** One who waits, and those behind that ask for the same user. */
type Line = (() => void)[];

/**
 * Lets at most `limit` pieces of work run at a time. Others wait in a line of their user's: a free place goes to the
 * user who has the fewest running, in turn among equals, so that who asks much waits behind himself, not others behind
 * him. Of the places `kept` are only for users who have nothing running: nothing that runs is put aside, so without them
 * one user's long work could hold all places.
 * Errors: `enter` rejects with the signal's reason when it aborts while waiting.
 */
export class Gate {
  readonly #limit: number;
  readonly #kept: number;
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  /** In the order in which users are served among equals; no line is empty. */
  readonly #lines = new Map<string, Line>();

  constructor(limit: number, kept = 0) {
    this.#limit = limit;
    this.#kept = kept;
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
          this.#admitNext();
        });
      };
      const onAbort = (): void => {
        const line = this.#lines.get(user)!;
        line.splice(line.indexOf(admit), 1);
        if (line.length === 0) this.#lines.delete(user);
        reject(signal!.reason as Error);
      };
      if (this.#hasPlace(this.#runningOf.get(user) ?? 0)) return admit();
      const line = this.#lines.get(user);
      if (line === undefined) this.#lines.set(user, [admit]);
      else line.push(admit);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** For one more of a user who has so many running. */
  #hasPlace(running: number): boolean {
    return this.#running < (running === 0 ? this.#limit : this.#limit - this.#kept);
  }

  #admitNext(): void {
    let next: string | undefined;
    let fewest = Infinity;
    for (const user of this.#lines.keys()) {
      const running = this.#runningOf.get(user) ?? 0;
      if (running >= fewest) continue;
      fewest = running;
      next = user;
    }
    if (next === undefined || !this.#hasPlace(fewest)) return;
    const line = this.#lines.get(next)!;
    const admit = line.shift()!;
    // Served last, the user comes last among equals.
    this.#lines.delete(next);
    if (line.length > 0) this.#lines.set(next, line);
    admit();
  }

  #count(user: string, change: 1 | -1): void {
    this.#running += change;
    const running = (this.#runningOf.get(user) ?? 0) + change;
    if (running === 0) this.#runningOf.delete(user);
    else this.#runningOf.set(user, running);
  }
}
