import { XorStates } from '../chunk/index.ts';

/**
 * For each series a mark: the position, in one of its chunks, at which the samples of the last read began. A client
 * that polls reads about the same few newest samples each time. With a mark, the next read need not decode the samples
 * before them. A mark is a state of the chunk's writer and takes 40 bytes. There are no marks until the first read.
 */
export class ReaderMarks {
  readonly #states = new XorStates(0);
  /** Counts changes of samples that a mark may point to. Readers that began before a change must then ignore marks. */
  edits = 0;

  /** The marks, one row for each slot; allocated for at least `capacity` slots. */
  states(capacity: number): XorStates {
    if (this.#states.capacity < capacity) this.#states.grow(capacity);
    return this.#states;
  }

  /** Called when the samples of a slot's chunks change, or when the slot is given to another series. */
  forget(slot: number): void {
    this.edits++;
    if (slot < this.#states.capacity) this.#states.reset(slot);
  }
}
