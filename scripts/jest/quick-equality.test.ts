/** The comparison that `quick-equality.cjs` adds has to leave every outcome of Jest as it is. */

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
  ['part of other bytes', Buffer.from('abc').subarray(1), Buffer.from('bc')],
  ['a pattern for a member', { a: 'x', b: [1] }, { a: expect.any(String) as unknown, b: [1] }],
  ['objects that hold themselves', cyclic('a'), cyclic('a')],
  ['what iterates alike', new Counter(1, 2), new Counter(1, 2)],
])('%s are equal', (_, a, b) => {
  expect(a).toEqual(b);
  expect(b).toEqual(a);
});

test.each<[string, unknown, unknown]>([
  ['a member more', { a: 1 }, { a: 1, b: 2 }],
  ['a value deep inside', { a: [1, { b: 'c' }] }, { a: [1, { b: 'd' }] }],
  ['zeros of another sign', [0], [-0]],
  ['one byte', new Uint8Array([1, 2]), new Uint8Array([1, 3])],
  ['what iterates differently', new Counter(1, 2), new Counter(1, 3)],
  ['a symbol', { [Symbol.for('a')]: 1 }, { [Symbol.for('a')]: 2 }],
  ['a pattern that does not fit', { a: 1 }, { a: expect.any(String) as unknown }],
  ['objects that hold themselves, by a name', cyclic('a'), cyclic('b')],
  ['an array and an object', [1], { 0: 1 }],
])('%s is a difference', (_, a, b) => {
  expect(a).not.toEqual(b);
  expect(b).not.toEqual(a);
});

test.each<[string, unknown, unknown]>([
  ['a hole', hole, [1, undefined, 3]],
  ['a member that is undefined', { a: undefined }, {}],
  ['a class', new Point(), { x: 1 }],
])('%s is a difference only to whoever asks strictly', (_, a, b) => {
  expect(a).toEqual(b);
  expect(a).not.toStrictEqual(b);
  expect(b).not.toStrictEqual(a);
});

test('a member that is not enumerable does not count', () => {
  expect(hidden('z')).not.toEqual(hidden('y'));
});

test('a difference is shown as ever', () => {
  expect(() => expect({ a: [1, 2] }).toEqual({ a: [1, 3] })).toThrow(/- {5}3,\n\s*\+ {5}2,/);
});
