import type { Clock } from '../../base/clock.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import { Gate } from '../../base/gate.ts';

/** Bounds of what runs at a time. */
export interface AdmissionLimits {
  /** Pieces of work at a time; others wait. */
  readonly concurrency: number;
  /** Requests that may wait; further ones are refused. */
  readonly waiting: number;
  /** Longest time of one request, waiting included. Milliseconds. */
  readonly deadlineMs: number;
}

/** Why there is no answer. `unsupported` and `over_limit` tell the asker to take another way. */
export type Refusal = 'unsupported' | 'invalid' | 'execution' | 'over_limit' | 'busy' | 'timeout' | 'internal';

export interface Refused {
  readonly refusal: Refusal;
  readonly message: string;
}

/** A whole answer, or why there is none. */
export type FramedOutcome = { readonly frames: readonly Uint8Array[]; readonly bytes: number } | Refused;

/** Answers a request's body with frames. Errors: none but the signal's; all else is an outcome. */
export type FramedHandler = (body: string, signal: AbortSignal) => Promise<FramedOutcome>;

export function refuse(refusal: Refusal, message: string): Refused {
  return { refusal, message };
}

/** Lets work in when it is its turn, for as long as its asker waits. Errors: what the work throws; the asker's signal. */
export class Admission {
  readonly #clock: Clock;
  readonly #limits: AdmissionLimits;
  readonly #gate: Gate;
  #waiting = 0;

  constructor(clock: Clock, limits: AdmissionLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#gate = new Gate(limits.concurrency);
  }

  async run<T>(
    askedMs: number,
    signal: AbortSignal,
    work: (signal: AbortSignal, waitMs: number) => Promise<T>,
  ): Promise<T | Refused> {
    if (this.#waiting >= this.#limits.waiting) return refuse('busy', `${this.#waiting} requests wait already`);
    const ended = new LinkedAbort(signal);
    const deadlineMs = Math.min(askedMs, this.#limits.deadlineMs);
    let isLate = false;
    const cancelTimer = this.#clock.setTimeout(() => {
      isLate = true;
      ended.abort(new DOMException('deadline', 'TimeoutError'));
    }, deadlineMs);
    const started = this.#clock.monotonic();
    let leave = (): void => {};
    try {
      this.#waiting++;
      leave = await this.#gate.enter(ended.signal).finally(() => this.#waiting--);
      return await work(ended.signal, this.#clock.monotonic() - started);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isLate) return refuse('timeout', `not done within ${deadlineMs} ms`);
      throw error;
    } finally {
      leave();
      cancelTimer();
      ended.release();
    }
  }
}
