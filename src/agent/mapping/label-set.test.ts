import { heapAfterGc } from '../../testing/heap.ts';
import { truncate } from './label-set.ts';

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcde'],
  ['äöüß', 3, 'äöü'],
  ['a😀b', 3, 'a😀'],
  ['a😀b', 2, 'a'],
])('%s cut to %d characters is %s', (text, max, cut) => {
  expect(truncate(text, max)).toBe(cut);
});

test('a cut text does not keep the memory of the whole one', async () => {
  const megabyte = 1e6; // V8 keeps longer texts of a buffer outside of its heap, and frees them some time later
  const before = await heapAfterGc();
  const cut = Array.from({ length: 64 }, (_, i) => truncate(Buffer.alloc(megabyte, 65 + i).toString(), 2_048));
  expect((await heapAfterGc()) - before).toBeLessThan(16 * megabyte);
  expect(cut.map((text) => [text.length, text[0]])).toContainEqual([2_048, 'A']);
});
