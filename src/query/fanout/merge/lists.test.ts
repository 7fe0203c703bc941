import fc from 'fast-check';
import { mergeLists } from './lists.ts';
import { turns as ofProcess } from '../../../base/turns/turns.ts';
import { labelsFromObject } from '../../../tsdb/index.ts';
import { joinLists } from './list-labels.ts';

const byNumber = (a: number, b: number): number => a - b;
const inOrder = (list: readonly number[]): number[] => [...new Set(list)].sort(byNumber);

test('sorted lists are merged into one sorted list without duplicates', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.integer({ min: 0, max: 30 }))), async (lists) => {
      const joined = await mergeLists(lists.map(inOrder), byNumber, ofProcess, 'once');
      expect(joined).toEqual(inOrder(lists.flat()));
    }),
  );
});

test('a merge of long lists yields to other work', async () => {
  const lists = [0, 1, 2].map((k) => Array.from({ length: 50_000 }, (_, i) => 3 * i + k));
  let turns = 0;
  const counting = { next: async () => void turns++ };
  expect(await mergeLists(lists, byNumber, counting, 'once')).toHaveLength(150_000);
  expect(turns).toBeGreaterThan(20);
});

test('lists of series that come from no index take the memory of their pairs when they are joined', async () => {
  let held = 0;
  const memory = { take: (bytes: number) => ((held += bytes), null), give: (bytes: number) => void (held -= bytes) };
  const lists = ['a', 'b'].map((job) => ({ texts: [], series: [labelsFromObject({ job: job.repeat(1_000) })] }));
  const { series } = await joinLists(lists, { kind: 'series' }, ofProcess, memory);
  expect(series).toHaveLength(2);
  expect(held).toBeGreaterThan(2_000);
});
