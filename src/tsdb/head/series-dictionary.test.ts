import fc from 'fast-check';
import { labelsFromPairs, labelsKey, type Labels } from '../labels.ts';
import { SeriesDictionary } from './series-dictionary.ts';

/** Label sets that share pair objects, as those of a histogram do. Some are longer than the dictionary's buffers. */
const pool = [...Array(80).keys()].map((i) => [`l${i}`, `v${i % 3}`] as const);
const labelSet = fc
  .tuple(fc.subarray(pool, { minLength: 1, maxLength: 12 }), fc.constantFrom(0, 0, 0, 40, 80), fc.nat(3))
  .map(([some, more, le]) => labelsOf([...new Set([...pool.slice(0, more), ...some])], String(le)));

function labelsOf(shared: readonly (readonly [string, string])[], le: string): Labels {
  const own = ['le', le] as const;
  return [...shared, own].sort((a, b) => (a[0] < b[0] ? -1 : 1));
}

test('series are found by their labels, listed under each of them and read back, whatever was added or removed before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(labelSet, fc.nat(5)), { maxLength: 40 }), (steps) => {
      const dictionary = new SeriesDictionary();
      const model = new Map<string, { readonly labels: Labels; readonly ref: number; readonly slot: number }>();
      let ref = 0;
      for (const [labels, removes] of steps) {
        const key = labelsKey(labels);
        expect(dictionary.find(labels)).toBe(model.get(key)?.slot);
        if (!model.has(key)) model.set(key, { labels, ref: ++ref, slot: dictionary.add(ref, labels) });
        else if (removes === 0) {
          dictionary.remove([model.get(key)!.slot], (release) => release());
          model.delete(key);
        }
      }
      for (const { labels, ref, slot } of model.values()) {
        // Labels are found by their content: this array and its pairs are new objects.
        expect(dictionary.find(labelsFromPairs(labels.map(([name, value]) => [name, value])))).toBe(slot);
        expect(dictionary.labels(slot)).toEqual(labels);
        for (const [name, value] of labels)
          expect(Array.from(dictionary.postings.postings(name, value)!)).toContain(ref);
      }
      const listed = pool.flatMap(([name, value]) => Array.from(dictionary.postings.postings(name, value) ?? []));
      const expected = [...model.values()].flatMap(({ labels, ref }) =>
        labels.filter(([name]) => name !== 'le').map(() => ref),
      );
      expect(listed.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
    }),
    { numRuns: 300 },
  );
});
