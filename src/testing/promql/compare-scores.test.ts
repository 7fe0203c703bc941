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

test('a new failure beside a new success is found, though the score is the same', () => {
  expect(differences(scores(['a']), scores(['b']))).toEqual([
    'newly failing: b',
    'on record as failing, but did not: a',
  ]);
});

test('the second failure of a case that is in the data twice is found', () => {
  expect(differences(scores(['a']), scores(['a', 'a']))).toEqual(['newly failing: a']);
});

test('missing cases are found, though no other case fails', () => {
  expect(differences(scores([]), scores([], 9))).toEqual(['promqltest: 9 cases, 10 on record']);
});
