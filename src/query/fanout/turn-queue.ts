import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Turns of the event loop, one for each caller, in the order of their calls. What long work does between two turns of
 * this queue is all that it does in one turn of the loop, however many connections have something for it: short
 * questions get their answers in between.
 */
export class TurnQueue {
  #last: Promise<unknown> = Promise.resolve();

  turn(): Promise<unknown> {
    return (this.#last = this.#last.then(() => nextTurn()));
  }
}
