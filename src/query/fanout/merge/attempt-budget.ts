import type { Memory, Shortage } from '../../../base/memory-pool.ts';
import type { SampleBudget } from './series-collector.ts';

/**
 * Runs work that takes samples and memory from a budget.
 * Guarantees: failed work returns what it took. What other work took from the same budget in the meantime stays taken.
 * Assumptions: work that has failed is over, and keeps nothing of what it has read.
 */
export async function attempt<T>(budget: SampleBudget, work: (own: SampleBudget) => Promise<T>): Promise<T> {
  const own = new AttemptBudget(budget);
  try {
    return await work(own);
  } catch (error) {
    own.giveBack();
    throw error;
  }
}

/** Counts the memory that one attempt takes. */
class AttemptMemory implements Memory {
  readonly #whole: Memory;
  #bytes = 0;

  constructor(whole: Memory) {
    this.#whole = whole;
  }

  take(bytes: number): Shortage | null {
    const shortage = this.#whole.take(bytes);
    if (shortage === null) this.#bytes += bytes;
    return shortage;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
    this.#whole.give(bytes);
  }

  giveBack(): void {
    this.give(this.#bytes);
  }
}

/** Counts what one attempt takes. */
class AttemptBudget implements SampleBudget {
  readonly memory: AttemptMemory | undefined;
  readonly #whole: SampleBudget;
  #samples = 0;

  constructor(whole: SampleBudget) {
    this.#whole = whole;
    this.memory = whole.memory && new AttemptMemory(whole.memory);
  }

  get left(): number {
    return this.#whole.left;
  }

  set left(left: number) {
    this.#samples += this.#whole.left - left;
    this.#whole.left = left;
  }

  giveBack(): void {
    this.left += this.#samples;
    this.memory?.giveBack();
  }
}
