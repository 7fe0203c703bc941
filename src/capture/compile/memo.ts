import { isDeepStrictEqual } from 'node:util';

interface Cell {
  deps: readonly unknown[];
  value: unknown;
}

/**
 * State that one compile leaves for the next, so that an edit costs only the parts it touches.
 *
 * Shape: a value belongs to an owner (an object, or two) and a slot, and stays valid as long as its dependencies are
 * the same objects. `keep` ensures that: equal facts are replaced by the objects known before.
 * Guarantees: a compile with a memo gives the same result as one without; values are dropped with their owners.
 */
export class Memo {
  readonly #cells = new WeakMap<object, Map<string, Cell>>();
  readonly #pairs = new WeakMap<object, WeakMap<object, Map<string, Cell>>>();
  #kept = new Map<string, unknown>();
  #used = new Map<string, unknown>();

  /** Begins a compile: values that the previous compile did not use are dropped. */
  begin(): void {
    this.#kept = this.#used;
    this.#used = new Map();
  }

  /** The value known under this name if it is equal, else the given one. */
  keep<T>(name: string, value: T, equal: (a: T, b: T) => boolean = isDeepStrictEqual): T {
    const before = (this.#used.get(name) ?? this.#kept.get(name)) as T | undefined;
    const result = before !== undefined && (before === value || equal(before, value)) ? before : value;
    this.#used.set(name, result);
    return result;
  }

  /** An object that represents a name for as long as each compile asks for it. */
  owner(name: string): object {
    return this.keep<object>(`owner ${name}`, {}, () => true);
  }

  /** One list for equal members: the same list is returned while its members are the same objects. */
  list<T>(owner: object, slot: string, items: readonly T[]): readonly T[] {
    return this.cell(owner, slot, items, () => items);
  }

  cell<T>(owner: object, slot: string, deps: readonly unknown[], compute: (before?: T) => T): T {
    let slots = this.#cells.get(owner);
    if (!slots) this.#cells.set(owner, (slots = new Map<string, Cell>()));
    return fill(slots, slot, deps, compute);
  }

  pair<T>(owner: object, part: object, slot: string, deps: readonly unknown[], compute: () => T): T {
    let parts = this.#pairs.get(owner);
    if (!parts) this.#pairs.set(owner, (parts = new WeakMap<object, Map<string, Cell>>()));
    let slots = parts.get(part);
    if (!slots) parts.set(part, (slots = new Map<string, Cell>()));
    return fill(slots, slot, deps, compute);
  }
}

function fill<T>(slots: Map<string, Cell>, slot: string, deps: readonly unknown[], compute: (before?: T) => T): T {
  const found = slots.get(slot);
  if (found && found.deps.length === deps.length && found.deps.every((d, i) => d === deps[i])) return found.value as T;
  const value = compute(found?.value as T | undefined);
  slots.set(slot, { deps, value });
  return value;
}
