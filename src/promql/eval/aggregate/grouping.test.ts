import fc from 'fast-check';
import { dropMetadata, filterLabels, sortedLabels } from '../../labels.ts';
import type { Label } from '../../types.ts';
import { Grouper } from './grouping.ts';

const names = ['__name__', '__type__', 'a', 'b', 'c', 'd', 'e', 'f'];
const text = fc.constantFrom('', '1', '2');
const labels = fc
  .tuple(...names.map(() => text))
  .map((values) => sortedLabels(values.map((value, i): Label => [names[i]!, value])));

test('series are in one group exactly when the labels that the group keeps are equal, for few and many names', () => {
  const series = fc.array(labels, { maxLength: 12 });
  fc.assert(
    fc.property(series, fc.subarray(names), fc.boolean(), fc.boolean(), (all, grouping, without, strip) => {
      const kept = all.map((one) =>
        filterLabels(strip ? dropMetadata(one) : one, (name) =>
          without ? name !== '__name__' && !grouping.includes(name) : grouping.includes(name),
        ),
      );
      const keys = [...new Set(kept.map((one) => JSON.stringify(one)))];
      const grouper = new Grouper({ grouping, without }, strip);
      expect(all.map((one) => grouper.indexOf(one))).toEqual(kept.map((one) => keys.indexOf(JSON.stringify(one))));
      expect(grouper.labels).toEqual(keys.map((key) => JSON.parse(key) as Label[]));
    }),
    { numRuns: 1_000, seed: 7 },
  );
});

test('the work of finding a group depends on the labels that a series has, not on the names that are listed', () => {
  const grouping = Array.from({ length: 2_000 }, (_, i) => `l${i}`);
  const one = sortedLabels([['pod', 'a']]);
  const many = new Grouper({ grouping: ['pod', ...grouping], without: false }, false);
  expect(many.workOf(one)).toBe(new Grouper({ grouping: ['pod'], without: true }, false).workOf(one));
});
