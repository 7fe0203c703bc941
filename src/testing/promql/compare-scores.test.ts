import { differences, type Scores } from './compare-scores.ts';

const scores = (failing: string[], total = 10): Scores => ({
  promqltest: { passed: total - failing.length, total },
  goldens: { passed: 5, total: 5 },
  compliance: { passed: 7, total: 7 },
  failing,
});

test('results equal to the record have no differences', () => {
  expect(differences(scores(['a', 'b']), scores(['a', 'b']))).toEqual([]);
});

test('a new failure is found, even if a new success keeps the score the same', () => {
  expect(differences(scores(['a']), scores(['b']))).toEqual([
    'newly failing: b',
    'on record as failing, but did not: a',
  ]);
});

test('a new failure of one of two equal cases is found', () => {
  expect(differences(scores(['a']), scores(['a', 'a']))).toEqual(['newly failing: a']);
});

test('missing cases are found, even if no case fails', () => {
  expect(differences(scores([]), scores([], 9))).toEqual(['promqltest: 9 cases, 10 on record']);
});
