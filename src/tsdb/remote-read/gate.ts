/**
 * Lets at most `limit` pieces of work run at a time; the others wait in order.
 * Errors: `enter` rejects with the signal's reason when it aborts while waiting.
 */
export class Gate {
  readonly #limit: number;
  #running = 0;
  #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves with the function that leaves the gate; calling it twice is harmless. */
  enter(signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const admit = (): void => {
        signal?.removeEventListener('abort', onAbort);
        this.#running++;
        let left = false;
        resolve(() => {
          if (left) return;
          left = true;
          this.#running--;
          this.#waiting.shift()?.();
        });
      };
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((w) => w !== admit);
        reject(signal!.reason as Error);
      };
      if (this.#running < this.#limit) return admit();
      this.#waiting.push(admit);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
