import { collectGarbage } from '../../testing/heap.ts';
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
  const megabyte = 1024 * 1024;
  const used = async (): Promise<number> => {
    await collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = await used();
  const cut = Array.from({ length: 8 }, (_, i) => truncate(Buffer.alloc(8 * megabyte, 65 + i).toString(), 2_048));
  expect((await used()) - before).toBeLessThan(16 * megabyte);
  expect(cut.map((text) => [text.length, text[0]])).toContainEqual([2_048, 'A']);
});
