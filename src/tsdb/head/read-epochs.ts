/**
 * Determines when memory that the head, the newest part of the store, has released may be reused: only after every
 * reader that began earlier has ended.
 * Readers may therefore keep using old addresses, and the writer never waits for a reader.
 */
export class ReadEpochs {
  #next = 1;
  /** Ids of running readers, ascending (a Set keeps the order of insertion). */
  readonly #running = new Set<number>();
  #waiting: { readonly until: number; readonly release: () => void }[] = [];

  /** Begins a reader. The returned function ends the reader, and may be called twice. */
  enter(): () => void {
    const id = this.#next++;
    this.#running.add(id);
    return () => {
      if (this.#running.delete(id)) this.#release();
    };
  }

  /** Calls `release` once all readers that are running now have ended. */
  retire(release: () => void): void {
    if (this.#running.size === 0) release();
    else this.#waiting.push({ until: this.#next - 1, release });
  }

  #release(): void {
    const [oldest = Infinity] = this.#running;
    let ready = 0;
    while (ready < this.#waiting.length && this.#waiting[ready]!.until < oldest) this.#waiting[ready++]!.release();
    if (ready > 0) this.#waiting = this.#waiting.slice(ready);
  }
}
