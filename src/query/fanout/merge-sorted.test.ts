import fc from 'fast-check';
import { compareLabels, labelsFromObject } from '../../tsdb/index.ts';
import { mergeSorted } from './merge-sorted.ts';
import { TurnQueue } from './turn-queue.ts';

test('lists are joined in label order, whatever order they were in', async () => {
  const series = fc.record({ labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.string()).map(labelsFromObject) });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(series, { maxLength: 8 }), { maxLength: 7 }), async (lists) => {
      const merged = await mergeSorted(lists, new TurnQueue());
      const expected = lists.flat().sort((a, b) => compareLabels(a.labels, b.labels));
      expect(merged.map(({ labels }) => labels)).toEqual(expected.map(({ labels }) => labels));
    }),
  );
});

test('of many waiters each gets its own turn of the event loop, in order', async () => {
  const turns = new TurnQueue();
  let loops = 0;
  let counting = true;
  const count = (): void => {
    loops++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const seen: [number, number][] = [];
  await Promise.all([0, 1, 2, 3].map((i) => turns.turn().then(() => seen.push([i, loops]))));
  counting = false;
  expect(seen.map(([i]) => i)).toEqual([0, 1, 2, 3]);
  expect(new Set(seen.map(([, loop]) => loop)).size).toBe(4);
});
