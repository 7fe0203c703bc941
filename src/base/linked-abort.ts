/**
 * Ends a piece of work when the signal of whoever asked for it aborts, with that signal's reason, or by itself.
 * For what is made with every request: `AbortSignal.any` costs several times as much, and leaves weak references behind.
 */
export class LinkedAbort {
  readonly #own = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow = (): void => this.#own.abort(this.#outer.reason);

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    if (outer.aborted) this.#follow();
    else outer.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(reason: unknown): void {
    this.#own.abort(reason);
  }

  /** The work has ended: the outer signal is let go. */
  release(): void {
    this.#outer.removeEventListener('abort', this.#follow);
  }
}
