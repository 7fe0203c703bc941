import type { Memory } from '../../base/memory-pool.ts';
import type { TurnTaking } from '../../base/turns/turns.ts';
import { QueryError } from '../errors.ts';

/** Work (samples touched) between two checks of the clock. */
const workPerLook = 20_000;

/** The limits of one query. */
export interface BudgetLimits {
  readonly maxSamples: number;
  /** Series of all selectors together. Default: no limit. */
  readonly maxSeries?: number | undefined;
  /** The memory pool of the process, from which the query's memory is taken. Default: none. */
  readonly memory?: Memory | undefined;
  readonly timeoutMs: number;
  readonly monotonic: (() => number) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly turns: TurnTaking;
}

/** Bytes of one sample: a time and a value, as Prometheus counts. Buffers count as the samples that fit into them. */
export const sampleBytes = 16;

/**
 * Counts the memory that a query uses, in samples, and its work.
 * Guarantees: an aborted or overdue query stops within one slice of work; other work of the process gets a turn between
 * the slices of any query.
 */
export class Budget {
  readonly #limits: BudgetLimits;
  readonly #started: number;
  #held = 0;
  #work = 0;
  /** The most samples that were in memory at the same time. */
  peak = 0;
  /** Samples read from the source. */
  read = 0;
  /** How many series the selectors found, all together. */
  series = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    this.#started = limits.monotonic?.() ?? 0;
  }

  /**
   * Takes memory for this many samples; `takenBytes` were taken for them from the same memory before.
   * Errors: `execution` above the limit, or when the process has no more memory.
   */
  hold(samples: number, takenBytes = 0): void {
    this.#held += samples;
    if (this.#held > this.peak) this.peak = this.#held;
    const { maxSamples, memory } = this.#limits;
    if (this.#held > maxSamples) throw tooManySamples();
    const bytes = samples * sampleBytes - takenBytes;
    if (bytes < 0) memory?.give(-bytes);
    else takeMemory(memory, bytes);
  }

  /**
   * Refuses work before its first step, when the work would need memory for too many samples. `what` returns the
   * reason, with numbers.
   * Errors: `execution` when the limit would be exceeded.
   */
  expect(samples: number, what: () => string): void {
    const { maxSamples } = this.#limits;
    if (this.#held + samples > maxSamples) {
      throw tooManySamples(
        `${what()} need memory for ${Math.ceil(samples)} samples, at most ${maxSamples} are allowed`,
      );
    }
  }

  /** Counts series that a selector found. Errors: `execution` above the limit. */
  touch(series: number): void {
    this.series += series;
    const { maxSeries = Infinity } = this.#limits;
    if (this.series > maxSeries) throw tooManySeries(this.series, maxSeries);
  }

  /** Releases memory. */
  release(samples: number): void {
    this.#held -= samples;
    this.#limits.memory?.give(samples * sampleBytes);
  }

  /** Counts work; true when it is time for a `turn`. */
  spend(work: number): boolean {
    this.#work += work;
    if (this.#work < workPerLook) return false;
    this.#work = 0;
    return this.#limits.turns.due();
  }

  /** Checks signal and clock, then lets the event loop run. Errors: `canceled` or `timeout`. */
  async turn(): Promise<void> {
    this.check();
    await this.#limits.turns.next();
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

/**
 * Takes bytes from the memory that the queries of a process share.
 * Errors: `execution`, with code ERR_QUERY_MEMORY when memory may become free later, else ERR_QUERY_LIMIT.
 */
export function takeMemory(memory: Memory | undefined, bytes: number): void {
  const shortage = memory?.take(bytes) ?? null;
  if (shortage === null) return;
  const { message, mayPass } = shortage;
  throw new QueryError('execution', message, { code: mayPass ? 'ERR_QUERY_MEMORY' : 'ERR_QUERY_LIMIT' });
}

/** The error of a query that exceeds its memory limit. */
export function tooManySamples(detail = ''): QueryError {
  const words = 'query processing would load too many samples into memory in query execution';
  return new QueryError('execution', detail === '' ? words : `${words}: ${detail}`, { code: 'ERR_QUERY_LIMIT' });
}

/** The error of a query that exceeds its series limit. */
export function tooManySeries(series: number, limit: number): QueryError {
  const message = `the query touches ${series} series or more, at most ${limit} are allowed`;
  return new QueryError('execution', message, { code: 'ERR_QUERY_LIMIT' });
}

/** The query error for an aborted signal: a TimeoutError is a timeout, all else a cancellation. */
export function abortError(signal: AbortSignal): QueryError {
  const reason: unknown = signal.reason;
  const timedOut = typeof reason === 'object' && reason !== null && 'name' in reason && reason.name === 'TimeoutError';
  return timedOut
    ? new QueryError('timeout', 'query timed out in expression evaluation', { cause: reason })
    : new QueryError('canceled', 'query was canceled in expression evaluation', { cause: reason });
}
