import type { KubeObject } from '../../api/meta.ts';
import { keyOf, keyText } from '../keys.ts';

type Values = (object: KubeObject) => readonly string[];

interface Index {
  readonly name: string;
  readonly values: Values;
  readonly keys: Map<string, Set<string>>;
  /** Keys of objects on which `values` threw and was reported. */
  readonly reported: Set<string>;
}

const none: readonly string[] = [];
const mostReported = 1_000;

/**
 * Indexes the keys of objects by the values that a function reads from each object, and keeps the index up to date.
 * An object on which the function throws has no values in that index. This is reported once for each object.
 * Assumptions: the functions are pure.
 */
export class Indexer {
  readonly #indexes = new Map<string, Index>();
  readonly #report: (index: string, key: string, error: unknown) => void;

  constructor(report: (index: string, key: string, error: unknown) => void) {
    this.#report = report;
  }

  /** Defines an index over `present`, the existing objects. A second definition of a name is ignored. */
  define(name: string, values: Values, present: Iterable<KubeObject>): void {
    if (this.#indexes.has(name)) return;
    const index = { name, values, keys: new Map<string, Set<string>>(), reported: new Set<string>() };
    this.#indexes.set(name, index);
    for (const object of present) this.#file(index, object, keyText(keyOf(object)));
  }

  /** The keys of the objects that have this value in the index. Errors: throws on an index that was never defined. */
  keys(name: string, value: string): Iterable<string> {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`no index ${name}`);
    return index.keys.get(value) ?? none;
  }

  /** Whether `object` has this value in the index, even if the object itself was not added. */
  files(name: string, value: string, object: KubeObject): boolean {
    const index = this.#indexes.get(name);
    return index !== undefined && this.#values(index, object, keyText(keyOf(object))).includes(value);
  }

  add(object: KubeObject): void {
    const key = keyText(keyOf(object));
    for (const index of this.#indexes.values()) this.#file(index, object, key);
  }

  remove(object: KubeObject): void {
    const key = keyText(keyOf(object));
    for (const index of this.#indexes.values()) {
      for (const value of this.#values(index, object, key)) {
        const filed = index.keys.get(value);
        filed?.delete(key);
        if (filed?.size === 0) index.keys.delete(value);
      }
    }
  }

  #file(index: Index, object: KubeObject, key: string): void {
    for (const value of this.#values(index, object, key)) {
      const filed = index.keys.get(value);
      if (filed) filed.add(key);
      else index.keys.set(value, new Set([key]));
    }
  }

  #values(index: Index, object: KubeObject, key: string): readonly string[] {
    try {
      const values = index.values(object);
      if (!Array.isArray(values)) throw new TypeError('the index function returned no array');
      return values;
    } catch (error) {
      if (!index.reported.has(key)) {
        if (index.reported.size >= mostReported) index.reported.clear();
        index.reported.add(key);
        this.#report(index.name, key, error);
      }
      return none;
    }
  }
}
