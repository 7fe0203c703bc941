import fc from 'fast-check';
import { labelsKey, type Labels } from '../index.ts';
import { DistinctLabels } from './distinct-labels.ts';

const anyLabels: fc.Arbitrary<Labels> = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c'))
  .chain((names) => fc.tuple(...names.sort().map((name) => fc.tuple(fc.constant(name), fc.constantFrom('x', 'y')))));

test('a label set that was added before is recognised, whatever the order of the sets', () => {
  fc.assert(
    fc.property(fc.array(anyLabels), fc.boolean(), (sets, inOrder) => {
      const all = inOrder ? sets.sort((a, b) => (labelsKey(a) < labelsKey(b) ? -1 : 1)) : sets;
      const distinct = new DistinctLabels();
      const met = new Set<string>();
      for (const labels of all) {
        expect(distinct.add(labels)).toBe(!met.has(labelsKey(labels)));
        met.add(labelsKey(labels));
      }
    }),
  );
});
