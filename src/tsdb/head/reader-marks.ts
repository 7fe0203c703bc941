import { XorStates } from '../chunk/index.ts';

/**
 * Where, in one chunk of each series, the samples began that a reader asked for last. Polls ask for about the same few
 * newest samples again and again: the next one need not decode what lies before them. A mark is a state of the chunk's
 * writer, 40 bytes, and there are none until the first read.
 */
export class ReaderMarks {
  readonly #states = new XorStates(0);
  /** Raised when samples that may be marked change: readers that began before must not look at marks any more. */
  edits = 0;

  /** The marks, one row a slot; made for at least `capacity` slots. */
  states(capacity: number): XorStates {
    if (this.#states.capacity < capacity) this.#states.grow(capacity);
    return this.#states;
  }

  /** The samples of a slot's chunks change, or the slot is another series' from now on. */
  forget(slot: number): void {
    this.edits++;
    if (slot < this.#states.capacity) this.#states.reset(slot);
  }
}
