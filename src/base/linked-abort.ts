/**
 * Ends a piece of work when the caller's signal aborts, with that signal's reason, or by a call of `abort`.
 * `AbortSignal.any` costs several times as much and leaves weak references behind: it is for two signals that both
 * outlive the work.
 */
export class LinkedAbort {
  readonly #own = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #follow = (): void => this.#own.abort(this.#outer?.reason);

  constructor(outer?: AbortSignal) {
    this.#outer = outer;
    if (!outer) return;
    if (outer.aborted) this.#follow();
    else outer.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(reason?: unknown): void {
    this.#own.abort(reason);
    this.release();
  }

  /** The work has ended: stops listening to the outer signal. `abort` does that, too. */
  release(): void {
    this.#outer?.removeEventListener('abort', this.#follow);
  }
}
