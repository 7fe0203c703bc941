/** The comparison that `quick-equality.cjs` adds must not change any outcome of Jest. */

class Counter {
  readonly #values: readonly number[];
  constructor(...values: number[]) {
    this.#values = values;
  }
  [Symbol.iterator](): Iterator<number> {
    return this.#values[Symbol.iterator]();
  }
}
class Point {
  x = 1;
}
const hole = [1, , 3];
const hidden = (visible: string): object =>
  Object.defineProperty({ [visible]: 1, x: 1 }, 'y', { value: 1, enumerable: visible === 'y' });
const cyclic = (name: string): object => {
  const top: Record<string, unknown> = { name };
  return Object.assign(top, { left: { top }, right: { top } });
};

test.each<[string, unknown, unknown]>([
  ['nested objects and arrays', { a: [1, { b: 'c', n: null }] }, { a: [1, { b: 'c', n: null }] }],
  ['members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
  ['two NaN', [NaN], [NaN]],
  ['bytes', new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  ['bytes in a larger buffer', Buffer.from('abc').subarray(1), Buffer.from('bc')],
  ['a member and a matcher that accepts it', { a: 'x', b: [1] }, { a: expect.any(String) as unknown, b: [1] }],
  ['cyclic objects', cyclic('a'), cyclic('a')],
  ['iterables of equal values', new Counter(1, 2), new Counter(1, 2)],
])('%s are equal', (_, a, b) => {
  expect(a).toEqual(b);
  expect(b).toEqual(a);
});

test.each<[string, unknown, unknown]>([
  ['an additional member', { a: 1 }, { a: 1, b: 2 }],
  ['a value deep inside', { a: [1, { b: 'c' }] }, { a: [1, { b: 'd' }] }],
  ['the sign of a zero', [0], [-0]],
  ['one byte', new Uint8Array([1, 2]), new Uint8Array([1, 3])],
  ['a value of an iterable', new Counter(1, 2), new Counter(1, 3)],
  ['a member named by a symbol', { [Symbol.for('a')]: 1 }, { [Symbol.for('a')]: 2 }],
  ['a matcher that does not match', { a: 1 }, { a: expect.any(String) as unknown }],
  ['a name in cyclic objects', cyclic('a'), cyclic('b')],
  ['an object in place of an array', [1], { 0: 1 }],
])('%s is a difference', (_, a, b) => {
  expect(a).not.toEqual(b);
  expect(b).not.toEqual(a);
});

test.each<[string, unknown, unknown]>([
  ['a hole in an array', hole, [1, undefined, 3]],
  ['a member that is undefined', { a: undefined }, {}],
  ['the class of an object', new Point(), { x: 1 }],
])('%s is a difference only for toStrictEqual', (_, a, b) => {
  expect(a).toEqual(b);
  expect(a).not.toStrictEqual(b);
  expect(b).not.toStrictEqual(a);
});

test('a member that is not enumerable does not count', () => {
  expect(hidden('z')).not.toEqual(hidden('y'));
});

test('a difference is printed as by Jest itself', () => {
  expect(() => expect({ a: [1, 2] }).toEqual({ a: [1, 3] })).toThrow(/- {5}3,\n\s*\+ {5}2,/);
});
