import { Step } from './step.ts';

/** A `Step` whose function records its calls. `calls` lists the first argument of each call. */
function counted() {
  const calls: unknown[] = [];
  const step = new Step((...args: unknown[]) => {
    calls.push(args[0]);
    return { args };
  });
  return { step, calls };
}

test('a key with equal arguments keeps the same result object, even when the arguments of another key change', () => {
  const { step, calls } = counted();
  const world = (b: number): Map<string, unknown> =>
    new Map([
      ['a', { is: 'a', list: [{ x: 1 }], more: { labels: { app: 'cart' } } }],
      ['b', { is: b }],
    ]);
  const first = step.each(world(1), (value, key) => [key, value]);
  const second = step.each(world(2), (value, key) => [key, value]);
  expect(calls).toEqual(['a', 'b', 'b']);
  expect(second.get('a')).toBe(first.get('a'));
  expect(second.get('b')).toEqual({ args: ['b', { is: 2 }] });
  expect([...second.keys()]).toEqual(['a', 'b']);
});

class Held {
  readonly #value: number;
  constructor(value: number) {
    this.#value = value;
  }
  get value(): number {
    return this.#value;
  }
}
const held = new Held(1);
const map = new Map([['a', 1]]);

test.each<[string, unknown, unknown, boolean]>([
  ['equal lists', [1, [2]], [1, [2]], true],
  ['lists of which one is longer', [1], [1, 2], false],
  ['a list and an object with its members', [1], { 0: 1 }, false],
  ['an object and a list of its members', { 0: 1 }, [1], false],
  ['objects with their members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ['a member that is undefined, and one of another name', { a: undefined }, { b: 1 }, false],
  ['null and an empty object', null, {}, false],
  ['a string and a number', '1', 1, false],
  ['the same instance of a class twice', held, held, true],
  ['instances of a class that look alike', new Held(1), new Held(2), false],
  ['the same map twice', map, map, true],
  ['maps with equal content', new Map([['a', 1]]), new Map([['a', 1]]), false],
])('whether arguments are equal: %s', (_what, a, b, isSame) => {
  const { step } = counted();
  expect(step.one('', a) === step.one('', b)).toBe(isSame);
});

test('forgets a key that is left out once', () => {
  const { step, calls } = counted();
  const keys = (...names: string[]) =>
    step.each(
      names.map((name) => [name, name] as const),
      (name) => [name],
    );
  keys('a', 'b');
  keys('a');
  keys('a', 'b');
  expect(calls).toEqual(['a', 'b', 'b']);
});

test('after a call that throws, earlier results are kept and the function is called again for the other keys', () => {
  let broken = false;
  const step = new Step((name: string) => {
    if (broken) throw new Error('broken');
    return { name };
  });
  const run = (...names: string[]) =>
    step.each(
      names.map((name) => [name, name] as const),
      (name) => [name],
    );
  const a = run('a').get('a');
  broken = true;
  expect(() => run('a', 'b')).toThrow('broken');
  broken = false;
  const after = run('a', 'b');
  expect(after.get('a')).toBe(a);
  expect(after.get('b')).toEqual({ name: 'b' });
});
