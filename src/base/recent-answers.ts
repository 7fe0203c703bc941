import type { Clock } from './clock.ts';

export interface RecentAnswersOptions<T> {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** How long an answer is reused. Units: ms. */
  readonly keptMs: number;
  /** Whether `keptMs` counts from the question (the default) or from the answer. */
  readonly from?: 'question' | 'answer';
  /** Maximum number of answers that are kept; beyond it the oldest is dropped. */
  readonly most: number;
  /** Whether an answer is kept for later callers, after those that waited for it. Default: every answer is. */
  readonly isKept?: (answer: T) => boolean;
}

/**
 * Answers that are reused for a while. Equal requests share one computation: later callers wait for it. A failure is
 * never kept.
 */
export class RecentAnswers<T> {
  readonly #options: RecentAnswersOptions<T>;
  /** The answers by key, in the order of their questions. */
  readonly #known = new Map<string, { until: number; readonly answer: Promise<T> }>();

  constructor(options: RecentAnswersOptions<T>) {
    this.#options = options;
  }

  /** Whether `get` would return an answer without asking. */
  has(key: string): boolean {
    return (this.#known.get(key)?.until ?? 0) > this.#options.clock.monotonic();
  }

  /** The recent answer, or the one that `ask` finds. Errors: those of `ask`. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    if (this.has(key)) return this.#known.get(key)!.answer;
    const { clock, keptMs, from, most, isKept } = this.#options;
    const now = clock.monotonic();
    this.#known.delete(key);
    for (const [old, { until }] of this.#known) {
      if (until > now && this.#known.size < most) break;
      this.#known.delete(old);
    }
    const entry = { until: Infinity, answer: ask() };
    this.#known.set(key, entry);
    const settle = (until: number): void => {
      entry.until = until;
      if (until === 0 && this.#known.get(key) === entry) this.#known.delete(key);
    };
    entry.answer.then(
      (answer) => settle(isKept?.(answer) === false ? 0 : (from === 'answer' ? clock.monotonic() : now) + keptMs),
      () => settle(0),
    );
    return entry.answer;
  }
}
