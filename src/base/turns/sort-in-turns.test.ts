import fc from 'fast-check';
import { sortInTurns } from './sort-in-turns.ts';
import type { Pacing } from './turns.ts';

/** Work of about a tenth of a slice. */
const mostWork = 250_000;

/** Sorts, and returns the most work of comparisons between two records of work, beside all that was recorded. */
async function sortWatched(
  elements: readonly number[],
  compareWork: number,
): Promise<{ sorted: number[]; longest: number; spent: number; compared: number }> {
  let [longest, spent, compared, since] = [0, 0, 0, 0];
  const pacing: Pacing = {
    spend: (work) => {
      longest = Math.max(longest, since);
      [since, spent] = [0, spent + work];
      return false;
    },
    turn: () => Promise.reject(new Error('no turn is due')),
  };
  const compare = (a: number, b: number): number => {
    compared += compareWork;
    since += compareWork;
    return Math.trunc(a / 10) - Math.trunc(b / 10);
  };
  const sorted = await sortInTurns(pacing, elements, compare, compareWork);
  return { sorted, longest: Math.max(longest, since), spent, compared };
}

test('a sort is stable, however much a comparison costs', async () => {
  const lists = fc.array(fc.nat(999), { maxLength: 3_000, size: 'max' });
  await fc.assert(
    fc.asyncProperty(lists, fc.constantFrom(1, 20, 1_000, 1e9), async (elements, compareWork) => {
      const before = [...elements];
      const { sorted } = await sortWatched(elements, compareWork);
      expect(sorted).toEqual([...before].sort((a, b) => Math.trunc(a / 10) - Math.trunc(b / 10)));
      expect(elements).toEqual(before);
    }),
    { numRuns: 100, seed: 7 },
  );
});

test.each([
  ['few elements with cheap comparisons', 100, 20],
  ['many elements with cheap comparisons', 5_000, 20],
  ['few elements with dear comparisons', 100, 20_000],
  ['many elements with dear comparisons', 5_000, 20_000],
])('a sort of %s records its work, in pieces that are a small part of a slice', async (_, count, compareWork) => {
  const elements = Array.from({ length: count }, (_, i) => (i * 7_919) % 9_973);
  const { longest, spent, compared } = await sortWatched(elements, compareWork);
  expect(longest).toBeLessThanOrEqual(mostWork);
  expect(spent).toBeGreaterThanOrEqual(compared);
});
