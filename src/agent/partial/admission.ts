import type { Clock } from '../../base/clock.ts';
import { Crowded, Share } from '../../base/collections/share.ts';
import type { MemoryLease, MemoryPool } from '../../base/memory-pool.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { fairPlaces, Gate } from '../../base/turns/gate.ts';

/** Limits on the requests that an agent answers at the same time. */
export interface AdmissionLimits {
  /** Tasks that run at a time; others wait. */
  readonly concurrency: number;
  /**
   * Bytes that the waiting requests of one caller may hold; further requests are refused. All callers together may hold
   * four times that.
   */
  readonly waitingBytes: number;
  /** Longest time of one request, waiting included. Milliseconds. */
  readonly deadlineMs: number;
}

/** A waiting request counts with its body, and with at least this much for its connection. Bytes. */
export const leastWaitingBytes = 64 * 1024;

/**
 * Default of `waitingBytes`: 256 usual requests. One query server has at most 64 connections to an agent, so no usual
 * request of one caller is refused because of what up to four query servers ask on the caller's behalf.
 */
export const defaultWaitingBytes = 16 * 1024 * 1024;

/** Why a request is refused. After `unsupported` and `over_limit` the caller requests the data in another form. */
export type Refusal = 'unsupported' | 'invalid' | 'execution' | 'over_limit' | 'busy' | 'timeout' | 'internal';

export interface Refused {
  readonly refusal: Refusal;
  readonly message: string;
}

/** A complete answer, or the reason why there is none. */
export type FramedOutcome = FramedAnswer | Refused;

export interface FramedAnswer {
  readonly frames: readonly Uint8Array[];
  readonly bytes: number;
  /** Frees the memory of the frames. To be called when they have been sent or are not needed any more. */
  readonly release?: () => void;
}

/**
 * Answers a request's body with frames; `caller` names the account to which the time of the work is charged. Errors:
 * only the signal's reason; any other failure is an outcome.
 */
export type FramedHandler = (body: string, signal: AbortSignal, caller?: string) => Promise<FramedOutcome>;

export function refuse(refusal: Refusal, message: string): Refused {
  return { refusal, message };
}

/** Who asks, and how much. */
export interface Asking {
  readonly signal: AbortSignal;
  /** The account to which the time of the work is charged. */
  readonly caller: string;
  /** The request's body, which is held while the request waits. */
  readonly body: string;
}

/** Runs each request when its turn comes, for as long as its caller waits. */
export class Admission {
  readonly #clock: Clock;
  readonly #limits: AdmissionLimits;
  readonly #gate: Gate;
  readonly #waiting: Share;

  constructor(clock: Clock, limits: AdmissionLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#gate = new Gate(limits.concurrency, fairPlaces);
    this.#waiting = new Share({ ofOne: limits.waitingBytes, all: 4 * limits.waitingBytes });
  }

  /**
   * Makes an answer with a memory account of its own, to which the frames are charged until they are released. If the
   * work runs out of memory, it is run again. Errors: the reason of the caller's signal. `refused` turns any other
   * error into an outcome.
   */
  async answer(
    askedMs: number,
    by: Asking,
    memory: MemoryPool,
    work: (lease: MemoryLease, waitMs: number) => Promise<FramedOutcome>,
    refused: (error: unknown) => Refused,
  ): Promise<FramedOutcome> {
    const account = memory.open(by.caller);
    let outcome: FramedOutcome | undefined;
    try {
      outcome = await this.#run(askedMs, by, (within, waitMs) => account.run(within, (lease) => work(lease, waitMs)));
      if ('frames' in outcome) return { ...outcome, release: () => account.close() };
      const { refusal, message } = outcome;
      if (refusal !== 'timeout' || account.shortage === null) return outcome;
      return refuse(refusal, `${message}, for want of memory: ${account.shortage.message}`);
    } catch (error) {
      if (by.signal.aborted) throw error;
      return refused(error);
    } finally {
      if (outcome === undefined || !('frames' in outcome)) account.close();
    }
  }

  /** Errors: those of the work; the reason of the caller's signal. */
  async #run<T>(
    askedMs: number,
    { signal, caller, body }: Asking,
    work: (signal: AbortSignal, waitMs: number) => Promise<T>,
  ): Promise<T | Refused> {
    const held = Math.max(Buffer.byteLength(body), leastWaitingBytes);
    try {
      this.#waiting.take(caller, held);
    } catch (error) {
      if (!(error instanceof Crowded)) throw error;
      return refuse('busy', 'too many requests wait already');
    }
    const deadlineMs = Math.min(askedMs, this.#limits.deadlineMs);
    const limit = new TimeLimit(this.#clock, deadlineMs, signal);
    const started = this.#clock.monotonic();
    let leave = (): void => {};
    try {
      leave = await this.#gate.enter(limit.signal, caller).finally(() => this.#waiting.give(caller, held));
      return await work(limit.signal, this.#clock.monotonic() - started);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (limit.passed) return refuse('timeout', `not done within ${deadlineMs} ms`);
      throw error;
    } finally {
      leave();
      limit.release();
    }
  }
}
