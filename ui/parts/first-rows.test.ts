import { firstRows } from './first-rows.ts';

test('the first rows fill a window of any height', () => {
  expect([0, 375, 900, 1_440].map(firstRows)).toEqual([10, 12, 29, 45]);
});
