/**
 * Says when memory that the head let go of may be used again: not before every reader that began earlier has ended.
 * So a reader may look at old addresses at its leisure, and the writer never waits for one.
 */
export class ReadEpochs {
  #next = 1;
  /** Ids of running readers, ascending (a Set keeps the order of insertion). */
  readonly #running = new Set<number>();
  #waiting: { readonly until: number; readonly release: () => void }[] = [];

  /** Begins a reader; the result ends it, and may be called twice. */
  enter(): () => void {
    const id = this.#next++;
    this.#running.add(id);
    return () => {
      if (this.#running.delete(id)) this.#release();
    };
  }

  /** Calls `release` once all readers of this moment are done. */
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
