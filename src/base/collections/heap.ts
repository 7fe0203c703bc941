/**
 * A binary heap: `pop` removes the element that `before` puts first. Equal elements come in any order.
 * Assumptions: what `before` compares does not change while an element is in the heap.
 */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(items[at]!, items[parent]!)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return top;
    items[0] = last;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      let least = at;
      if (left < items.length && this.#before(items[left]!, items[least]!)) least = left;
      if (left + 1 < items.length && this.#before(items[left + 1]!, items[least]!)) least = left + 1;
      if (least === at) return top;
      this.#swap(at, least);
      at = least;
    }
  }

  /** Removes the items that `alive` rejects. */
  keep(alive: (item: T) => boolean): void {
    const kept = this.#items.filter(alive);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b]!, items[a]!];
  }
}
