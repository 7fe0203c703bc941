import type { QueryResult } from '../types.ts';
import { warmUp } from './warm-up.ts';

/** A clock that advances by a millisecond at each read. */
function clock(): () => number {
  let now = 0;
  return () => now++;
}

test('every query of a warm-up has an answer, whichever way it is computed', async () => {
  const answers: QueryResult[] = [];
  await warmUp({ budgetMs: 1_000, monotonic: clock(), use: (result) => answers.push(result) });
  expect(answers.length).toBeGreaterThan(9 * 8);
  for (const { value, warnings } of answers) {
    expect(warnings).toEqual([]);
    if (value.type === 'vector') expect(value.elements.length).toBeGreaterThan(0);
    else expect(value.type === 'matrix' && value.series.length > 0).toBe(true);
  }
  // The same nine queries are evaluated locally, then from fragments that a node evaluates: the answers are equal.
  expect(answers.slice(9, 18).map(({ value }) => value)).toEqual(answers.slice(0, 9).map(({ value }) => value));
});

test('no query is begun when the time is over', async () => {
  expect(await warmUp({ budgetMs: 0, monotonic: clock() })).toBe(0);
});
