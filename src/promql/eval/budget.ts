import { QueryError } from '../errors.ts';

/** How much work (samples touched) may pass between two looks at the clock, the signal and the rest of the process. */
const workPerTurn = 500_000;

/** What limits one query. */
export interface BudgetLimits {
  readonly maxSamples: number;
  readonly timeoutMs: number;
  readonly monotonic: (() => number) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly yieldTurn: () => Promise<void>;
}

/** What one sample weighs: a time and a value, as Prometheus counts. Buffers weigh as many samples as fit into them. */
export const sampleBytes = 16;

/**
 * Accounts the memory a query holds, in samples, and the work it does.
 * Guarantees: an aborted or overdue query stops within one slice of work; other requests get a turn between slices.
 */
export class Budget {
  readonly #limits: BudgetLimits;
  readonly #started: number;
  #held = 0;
  #work = 0;
  /** Most samples held at once. */
  peak = 0;
  /** Samples read from the source. */
  read = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    this.#started = limits.monotonic?.() ?? 0;
  }

  /** Takes memory of so many samples. Errors: `execution` above the limit. */
  hold(samples: number): void {
    this.#held += samples;
    if (this.#held > this.peak) this.peak = this.#held;
    if (this.#held > this.#limits.maxSamples) {
      throw new QueryError('execution', 'query processing would load too many samples into memory in query execution', {
        code: 'ERR_QUERY_LIMIT',
      });
    }
  }

  /** Gives memory back. */
  release(samples: number): void {
    this.#held -= samples;
  }

  /** Notes work; true when it is time for a `turn`. */
  spend(work: number): boolean {
    this.#work += work;
    return this.#work >= workPerTurn;
  }

  /** Checks signal and clock, then lets the event loop run. Errors: `canceled` or `timeout`. */
  async turn(): Promise<void> {
    this.#work = 0;
    this.check();
    await this.#limits.yieldTurn();
    this.check();
  }

  /** Checks signal and clock. Errors: `canceled` or `timeout`. */
  check(): void {
    const { signal, timeoutMs, monotonic } = this.#limits;
    if (signal?.aborted === true) throw abortError(signal);
    if (timeoutMs > 0 && monotonic !== undefined && monotonic() - this.#started > timeoutMs) {
      throw new QueryError('timeout', 'query timed out in expression evaluation');
    }
  }
}

/** The query error for an aborted signal: a TimeoutError is a timeout, all else a cancellation. */
export function abortError(signal: AbortSignal): QueryError {
  const reason: unknown = signal.reason;
  const timedOut = typeof reason === 'object' && reason !== null && 'name' in reason && reason.name === 'TimeoutError';
  return timedOut
    ? new QueryError('timeout', 'query timed out in expression evaluation', { cause: reason })
    : new QueryError('canceled', 'query was canceled in expression evaluation', { cause: reason });
}
