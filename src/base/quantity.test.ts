import { parseQuantity } from './quantity.ts';

test.each<[value: unknown, number: number | undefined]>([
  ['100m', 0.1],
  ['64Mi', 67_108_864],
  [2, 2],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['.5', 0.5],
  ['5.', 5],
  ['1e3', 1_000],
  ['1E-2', 0.01],
  ['2E', 2e18],
  ['-3k', -3_000],
  ['12u', 12e-6],
  ['', undefined],
  ['Mi', undefined],
  ['1 Mi', undefined],
  ['1MiB', undefined],
  ['1K', undefined],
  ['one', undefined],
  ['__proto__', undefined],
  [null, undefined],
])('%j is %j', (value, number) => {
  if (number === undefined) expect(parseQuantity(value)).toBeUndefined();
  else expect(parseQuantity(value)).toBeCloseTo(number, 12);
});
