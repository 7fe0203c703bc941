/**
 * Ends a piece of work when one of the caller's signals aborts, with that signal's reason, or by a call of `abort`.
 * `AbortSignal.any` costs several times as much and leaves weak references behind.
 */
export class LinkedAbort {
  readonly #own = new AbortController();
  readonly #outer: readonly AbortSignal[];
  readonly #follow = (): void => this.#own.abort(this.#outer.find(({ aborted }) => aborted)?.reason);

  constructor(...outer: readonly (AbortSignal | undefined)[]) {
    this.#outer = outer.filter((signal) => signal !== undefined);
    if (this.#outer.some(({ aborted }) => aborted)) this.#follow();
    else for (const signal of this.#outer) signal.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(reason?: unknown): void {
    this.#own.abort(reason);
    this.release();
  }

  /** The work has ended: stops listening to the outer signals. `abort` does that, too. */
  release(): void {
    for (const signal of this.#outer) signal.removeEventListener('abort', this.#follow);
  }
}
