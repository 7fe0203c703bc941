import fc from 'fast-check';
import { compileMatcher, type Matcher } from './index.ts';
import { MemoryPostings, selectPostings } from './postings.ts';

const matcher = fc.record<Matcher>({
  type: fc.constantFrom('=', '!=', '=~', '!~'),
  name: fc.constantFrom('a', 'b', 'node'),
  value: fc.constantFrom('', 'x', 'y', 'own', 'x|y', 'x|y|x', 'y|y', '(|x|)', '.+'),
});

/** A series' values of the labels `a`, `b` and `node`; empty for an absent label. Most have `node="own"`. */
const series = fc.record({
  a: fc.constantFrom('', 'x', 'y'),
  b: fc.constantFrom('', 'x', 'z'),
  node: fc.constantFrom('own', 'own', 'own', 'own', 'y', ''),
});

test('the index finds exactly the series that satisfy every matcher', () => {
  fc.assert(
    fc.property(
      fc.array(series, { maxLength: 120 }),
      fc.array(matcher, { maxLength: 3 }),
      fc.boolean(),
      (all, asked, onOneNode) => {
        const index = new MemoryPostings();
        const known = all.map((one, i) => ({ ...one, ...(onOneNode ? { node: 'own' } : {}), ref: 3 * i + 1 }));
        for (const { ref, ...labels } of known) {
          index.begin(ref);
          for (const [name, value] of Object.entries(labels)) if (value !== '') index.add(ref, name, value);
        }
        const matchers = asked.map(compileMatcher);
        const expected = known.filter((one) => matchers.every(({ name, matches }) => matches(one[name as 'a'])));
        expect(Array.from(selectPostings(index, matchers))).toEqual(expected.map(({ ref }) => ref));
        expect([index.size, index.count('node', 'own')]).toEqual([
          known.length,
          known.filter(({ node }) => node === 'own').length,
        ]);
      },
    ),
    { numRuns: 300 },
  );
});
