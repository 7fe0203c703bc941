import { FairTurns, type TurnTaking } from './fair-turns.ts';

export type { TurnTaking };

/** The turns of this process' event loop: all of it that may compute for long takes them here. */
export const turns = new FairTurns();

/** What paces long work: a query's budget, or something that only shares the event loop. */
export interface Pacing {
  /** Notes work; true when it is time to await `turn`. */
  spend(work: number): boolean;
  /** Lets other work run. Errors: when there is no need to go on. */
  turn(): Promise<void>;
}

/** About so many samples are touched in a quarter of a millisecond. */
const samplesPerLook = 20_000;

/** Paces work that has no budget. Units of work: about the time that a sample takes, ten nanoseconds. */
export class Pace implements Pacing {
  readonly #signal: AbortSignal | undefined;
  readonly #turns: TurnTaking;
  #work = 0;

  /** Ends with the signal's reason. */
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
