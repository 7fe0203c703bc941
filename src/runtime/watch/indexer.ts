import type { KubeObject } from '../../api/meta.ts';
import { keyOf, keyText } from '../keys.ts';

type Values = (object: KubeObject) => readonly string[];

/** Indexes the keys of objects by the values that a function reads from each object, and keeps the index up to date. */
export class Indexer {
  readonly #indexes = new Map<string, { values: Values; keys: Map<string, Set<string>> }>();

  /** Defines an index over `present`, the existing objects. A second definition of a name is ignored. */
  define(name: string, values: Values, present: Iterable<KubeObject>): void {
    if (this.#indexes.has(name)) return;
    this.#indexes.set(name, { values, keys: new Map() });
    for (const object of present) this.#file(name, object);
  }

  /** The keys of the objects that have this value in the index. Errors: throws on an index that was never defined. */
  keys(name: string, value: string): Iterable<string> {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`no index ${name}`);
    return index.keys.get(value) ?? [];
  }

  /** Whether `object` has this value in the index, even if the object itself was not added. */
  files(name: string, value: string, object: KubeObject): boolean {
    return this.#indexes.get(name)?.values(object).includes(value) ?? false;
  }

  add(object: KubeObject): void {
    for (const name of this.#indexes.keys()) this.#file(name, object);
  }

  remove(object: KubeObject): void {
    const key = keyText(keyOf(object));
    for (const { values, keys } of this.#indexes.values()) {
      for (const value of values(object)) {
        const filed = keys.get(value);
        filed?.delete(key);
        if (filed?.size === 0) keys.delete(value);
      }
    }
  }

  #file(name: string, object: KubeObject): void {
    const { values, keys } = this.#indexes.get(name)!;
    const key = keyText(keyOf(object));
    for (const value of values(object)) {
      const filed = keys.get(value);
      if (filed) filed.add(key);
      else keys.set(value, new Set([key]));
    }
  }
}
