import type { TurnTaking } from '../../base/turns/turns.ts';

/** For whom an agent is asked. */
export interface Asker {
  /** Whose share of an agent's time it takes. */
  readonly caller?: string;
  /** The turns of the query. Default: those of the process. */
  readonly turns?: TurnTaking;
}

/** A reader that asks for a caller. */
export function forCaller<A, Q, O extends Asker, R>(
  reader: (agent: A, question: Q, options: O) => R,
  asker: Asker,
): (agent: A, question: Q, options: O) => R {
  return (agent, question, options) => reader(agent, question, { ...options, ...asker });
}
