/** One who waits, and those behind that ask for the same user. */
type Line = (() => void)[];

/**
 * Lets at most `limit` pieces of work run at a time. Others wait in a line of their user's: a free place goes to the
 * user who has the fewest running, in turn among equals, so that who asks much waits behind himself, not others behind
 * him.
 * Errors: `enter` rejects with the signal's reason when it aborts while waiting.
 */
export class FairGate {
  readonly #limit: number;
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  /** In the order in which users are served among equals; no line is empty. */
  readonly #lines = new Map<string, Line>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves with the function that leaves the gate; calling it twice is harmless. */
  enter(user: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const admit = (): void => {
        signal.removeEventListener('abort', onAbort);
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
        reject(signal.reason as Error);
      };
      if (this.#running < this.#limit) return admit();
      const line = this.#lines.get(user);
      if (line === undefined) this.#lines.set(user, [admit]);
      else line.push(admit);
      signal.addEventListener('abort', onAbort, { once: true });
    });
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
    if (next === undefined) return;
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
