/** Keeps what is put in so that the least comes out first; of equals the one that was put in first. */
export class TimeHeap<T> {
  readonly #items: { readonly time: string; readonly seq: number; readonly value: T }[] = [];
  #seq = 0;

  get size(): number {
    return this.#items.length;
  }

  push(time: string, value: T): void {
    const items = this.#items;
    let at = items.length;
    items.push({ time, seq: this.#seq++, value });
    for (let parent = (at - 1) >> 1; at > 0 && this.#before(at, parent); parent = (at - 1) >> 1) {
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || items.length === 0) return first?.value;
    items[0] = last!;
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < items.length && this.#before(child, least)) least = child;
      if (least === at) return first.value;
      this.#swap(at, least);
      at = least;
    }
  }

  #before(a: number, b: number): boolean {
    const [x, y] = [this.#items[a]!, this.#items[b]!];
    return x.time === y.time ? x.seq < y.seq : x.time < y.time;
  }

  #swap(a: number, b: number): void {
    [this.#items[a], this.#items[b]] = [this.#items[b]!, this.#items[a]!];
  }
}
