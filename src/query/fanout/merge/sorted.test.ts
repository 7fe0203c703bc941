import fc from 'fast-check';
import { turns } from '../../../base/turns/turns.ts';
import { compareLabels, labelsFromObject } from '../../../tsdb/index.ts';
import { mergeSorted } from './sorted.ts';

test('lists of series are merged in label order, even if the series of a list are not in that order', async () => {
  const series = fc.record({ labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.string()).map(labelsFromObject) });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(series, { maxLength: 8 }), { maxLength: 7 }), async (lists) => {
      const merged = await mergeSorted(lists, turns);
      const expected = lists.flat().sort((a, b) => compareLabels(a.labels, b.labels));
      expect(merged.map(({ labels }) => labels)).toEqual(expected.map(({ labels }) => labels));
    }),
  );
});
