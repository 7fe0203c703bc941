import { isDeepStrictEqual } from 'node:util';

interface Cell {
  deps: readonly unknown[];
  value: unknown;
}

/**
 * What one compile leaves for the next, so that an edit costs what it touches.
 *
 * Shape: a value belongs to an owner (an object, or two) and a slot, and holds as long as its dependencies are the very
 * same ones. `keep` makes that so: facts that come anew but equal are replaced by the ones known before.
 * Guarantees: a compile with a memo gives what one without gives; values go with their owners.
 */
export class Memo {
  readonly #cells = new WeakMap<object, Map<string, Cell>>();
  readonly #pairs = new WeakMap<object, WeakMap<object, Map<string, Cell>>>();
  #kept = new Map<string, unknown>();
  #used = new Map<string, unknown>();

  /** A compile begins: what the one before did not use is forgotten. */
  begin(): void {
    this.#kept = this.#used;
    this.#used = new Map();
  }

  /** The value known under this name where it is equal, else this one. */
  keep<T>(name: string, value: T, equal: (a: T, b: T) => boolean = isDeepStrictEqual): T {
    const before = (this.#used.get(name) ?? this.#kept.get(name)) as T | undefined;
    const result = before !== undefined && (before === value || equal(before, value)) ? before : value;
    this.#used.set(name, result);
    return result;
  }

  /** An object that stands for a name as long as it is asked for in each compile. */
  owner(name: string): object {
    return this.keep<object>(`owner ${name}`, {}, () => true);
  }

  /** One list for equal members: the same list comes back while they are the very same. */
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
