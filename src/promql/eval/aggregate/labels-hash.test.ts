import { xxHash64 } from './labels-hash.ts';

test.each([
  ['', 'ef46db3751d8e999'],
  ['a', 'd24ec4f1a98c6e5b'],
  ['abc', '44bc2cf5ad770999'],
  ['Nobody inspects the spammish repetition', 'fbcea83c8a378bf1'],
])('the hash of %j is that of the reference implementation', (text, expected) => {
  expect(hex(xxHash64(Buffer.from(text)))).toBe(expected);
});

const hex = ([high, low]: readonly [number, number]): string =>
  [high, low].map((half) => half.toString(16).padStart(8, '0')).join('');
