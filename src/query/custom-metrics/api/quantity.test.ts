import { quantity } from './quantity.ts';

test.each<[number, string]>([
  [0, '0'],
  [2, '2'],
  [1.5, '1500m'],
  [0.0004, '0'],
  [0.25, '250m'],
  [-1.5, '-1500m'],
  [2000, '2k'],
  [1234567, '1234567'],
  [1.5e15, '1500T'],
  [1e17, '100P'],
  [9.3e18, '9300P'],
  [1e40, '9223372036854775807E'],
])('the quantity of %d is %s', (value, text) => {
  expect(quantity(value)).toBe(text);
});
