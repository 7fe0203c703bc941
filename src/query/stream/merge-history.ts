import { timeOf } from '../../stream/index.ts';
import type { Received } from './agent-stream.ts';
import { TimeHeap } from './time-heap.ts';

/** The past items that one agent sends, in order of time. It ends when the answer ends or breaks off. */
export type HistorySource = AsyncIterator<readonly Received[], unknown>;

/**
 * Merges answers, each in order of time, into one. It reads at most one batch of each ahead, and reads more only on
 * demand.
 */
export async function* mergeHistory(sources: readonly HistorySource[]): AsyncGenerator<readonly Received[]> {
  interface Open {
    readonly source: HistorySource;
    batch: readonly Received[];
    at: number;
  }
  const heap = new TimeHeap<Open>();
  /** Puts the next item of an answer onto the heap, unless the answer has ended. */
  const advance = async (open: Open): Promise<void> => {
    while (open.at >= open.batch.length) {
      const { done, value } = await open.source.next();
      if (done) return;
      open.batch = value;
      open.at = 0;
    }
    heap.push(timeOf(open.batch[open.at]!.message), open);
  };
  await Promise.all(sources.map((source) => advance({ source, batch: [], at: 0 })));
  let out: Received[] = [];
  for (let open = heap.pop(); open !== undefined; open = heap.pop()) {
    out.push(open.batch[open.at++]!);
    if (out.length >= 256) {
      yield out;
      out = [];
    }
    await advance(open);
  }
  if (out.length > 0) yield out;
}

/** Keeps the last `number` items. If they take more than `maxBytes`, the earliest of them are dropped and counted. */
export class Newest {
  readonly #number: number;
  readonly #maxBytes: number;
  #kept: (Received | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #passed = 0;

  constructor(number: number, maxBytes: number) {
    this.#number = number;
    this.#maxBytes = maxBytes;
  }

  get items(): readonly Received[] {
    return this.#kept.slice(this.#head) as Received[];
  }

  /** How many of the last `number` items did not fit. */
  get lost(): number {
    return Math.min(this.#number, this.#passed) - (this.#kept.length - this.#head);
  }

  push(item: Received): void {
    this.#passed++;
    this.#kept.push(item);
    this.#bytes += item.bytes;
    while (this.#kept.length - this.#head > this.#number || this.#bytes > this.#maxBytes) {
      this.#bytes -= this.#kept[this.#head]!.bytes;
      this.#kept[this.#head++] = undefined;
    }
    if (this.#head > 1_000 && 2 * this.#head > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#head);
      this.#head = 0;
    }
  }
}
