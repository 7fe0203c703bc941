/** An item that is kept for an account until it is removed. */
export interface Held<T> {
  readonly account: string;
  readonly item: T;
  /** Its weight: bytes, or 1. */
  readonly weight: number;
  readonly isHeld: boolean;
}

interface Entry<T> extends Held<T> {
  weight: number;
  isHeld: boolean;
}

interface Queue<T> {
  entries: Entry<T>[];
  /** `gone` is the number of entries that are no longer held. All entries before index `head` are among them. */
  head: number;
  gone: number;
  weight: number;
}

/**
 * The contents of a bounded memory, in the order of arrival, separately for each account (the namespace of a sender).
 * Beyond the bound, callers evict the oldest entry of the account whose entries weigh most, so that an account that
 * floods the memory evicts only its own entries.
 * Guarantees: all calls take constant amortised time, plus one step per account.
 */
export class FairQueues<T> {
  readonly #queues = new Map<string, Queue<T>>();
  #weight = 0;

  /** Total weight of the entries held. */
  get weight(): number {
    return this.#weight;
  }

  add(account: string, item: T, weight: number): Held<T> {
    let queue = this.#queues.get(account);
    if (!queue) this.#queues.set(account, (queue = { entries: [], head: 0, gone: 0, weight: 0 }));
    const entry: Entry<T> = { account, item, weight, isHeld: true };
    queue.entries.push(entry);
    queue.weight += weight;
    this.#weight += weight;
    return entry;
  }

  /** Makes a held entry heavier; it keeps its place. */
  grow(held: Held<T>, weight: number): void {
    const entry = held as Entry<T>;
    entry.weight += weight;
    this.#queues.get(entry.account)!.weight += weight;
    this.#weight += weight;
  }

  /** Removes an entry; an entry that is no longer held is ignored. */
  remove(held: Held<T>): void {
    const entry = held as Entry<T>;
    const queue = this.#queues.get(entry.account);
    if (!entry.isHeld || !queue) return;
    entry.isHeld = false;
    queue.gone++;
    queue.weight -= entry.weight;
    this.#weight -= entry.weight;
    if (queue.gone === queue.entries.length) this.#queues.delete(entry.account);
    else if (queue.gone > 64 && queue.gone * 2 > queue.entries.length) {
      queue.entries = queue.entries.filter(({ isHeld }) => isHeld);
      queue.head = 0;
      queue.gone = 0;
    }
  }

  /** The oldest entry of the account whose entries weigh most; undefined when nothing is held. */
  oldestOfHeaviest(): Held<T> | undefined {
    let heaviest: Queue<T> | undefined;
    for (const queue of this.#queues.values()) if (!heaviest || queue.weight > heaviest.weight) heaviest = queue;
    if (!heaviest) return undefined;
    while (!heaviest.entries[heaviest.head]!.isHeld) heaviest.head++;
    return heaviest.entries[heaviest.head];
  }
}
