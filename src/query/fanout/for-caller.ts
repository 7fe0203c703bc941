import type { TurnTaking } from '../../base/turns/turns.ts';

/** The caller on whose behalf an agent is read. */
export interface Asker {
  /** The key under which the agent shares its time among callers. */
  readonly caller?: string;
  /** The turns of the query. Default: those of the process. */
  readonly turns?: TurnTaking;
}

/** A reader bound to a caller. */
export function forCaller<A, Q, O extends Asker, R>(
  reader: (agent: A, question: Q, options: O) => R,
  asker: Asker,
): (agent: A, question: Q, options: O) => R {
  return (agent, question, options) => reader(agent, question, { ...options, ...asker });
}
