import { FairTurns, type TurnTaking } from './fair-turns.ts';

export type { TurnTaking };

/** Shares the event loop of this process among all long computations, which wait here for their next turns. */
export const turns = new FairTurns();

/** Paces long work. Either the budget of a query does this, or a `Pace`, which only shares the event loop. */
export interface Pacing {
  /** Records work; true when it is time to await `turn`. */
  spend(work: number): boolean;
  /** Lets other work run. Errors: when there is no need to continue. */
  turn(): Promise<void>;
}

/**
 * Runs work that stops after each of its pieces and says how much that piece was.
 * Errors: those of the work and of `turn`.
 */
export async function inTurns<T>(pacing: Pacing, work: Generator<number, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (pacing.spend(value)) await pacing.turn();
  }
}

/** About as many samples as are processed in a quarter of a millisecond. */
const samplesPerLook = 20_000;

/** Paces work that has no budget. A unit of work is the work on one sample, which takes about ten nanoseconds. */
export class Pace implements Pacing {
  readonly #signal: AbortSignal | undefined;
  readonly #turns: TurnTaking;
  #work = 0;

  /** `turn` rejects with the signal's reason once the signal has aborted. */
  constructor(signal?: AbortSignal, of: TurnTaking = turns) {
    this.#signal = signal;
    this.#turns = of;
  }

  spend(work: number): boolean {
    this.#work += work;
    if (this.#work < samplesPerLook) return false;
    this.#work = 0;
    return this.#turns.due();
  }

  async turn(): Promise<void> {
    this.#signal?.throwIfAborted();
    await this.#turns.next();
    this.#signal?.throwIfAborted();
  }
}
