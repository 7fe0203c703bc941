/**
 * A pure function that each compile calls for many keys. For a key whose arguments equal those of the previous compile,
 * it is not called: the result is the same object as before.
 * Shape: arguments and results are never modified. Plain data is compared by content; a Map or an instance of a class
 * equals only itself.
 * Guarantees: a key that a compile leaves out is forgotten.
 */
export class Step<A extends readonly unknown[], R> {
  readonly #make: (...args: A) => R;
  #last = new Map<string, { args: A; result: R }>();

  constructor(make: (...args: A) => R) {
    this.#make = make;
  }

  /** The result for every key. */
  each<T>(items: Iterable<readonly [string, T]>, argsOf: (item: T, key: string) => A): Map<string, R> {
    const results = new Map<string, R>();
    const now = new Map<string, { args: A; result: R }>();
    for (const [key, item] of items) {
      const args = argsOf(item, key);
      const last = this.#last.get(key);
      const result = last && same(last.args, args) ? last.result : this.#make(...args);
      now.set(key, { args, result });
      results.set(key, result);
    }
    this.#last = now;
    return results;
  }

  /** The result of a function that each compile calls once. */
  one(...args: A): R {
    return this.each([['', args]], (own) => own).get('')!;
  }
}

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (!isPlain(a) || !isPlain(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
