import { differences, type Scores } from './compare-scores.ts';

const scores = (failing: string[], total = 10): Scores => ({
  promqltest: { passed: total - failing.length, total },
  goldens: { passed: 5, total: 5 },
  compliance: { passed: 7, total: 7 },
  failing,
});

test('the same results as on record are no difference', () => {
  expect(differences(scores(['a', 'b']), scores(['a', 'b']))).toEqual([]);
});

test('a new failure beside a new success is found, though the score is the same', () => {
  expect(differences(scores(['a']), scores(['b']))).toEqual([
    'newly failing: b',
    'on record as failing, but did not: a',
  ]);
});

test('of a case that is in the data twice the second failure is found', () => {
  expect(differences(scores(['a']), scores(['a', 'a']))).toEqual(['newly failing: a']);
});

test('cases that are gone are found, though none of the others fails', () => {
  expect(differences(scores([]), scores([], 9))).toEqual(['promqltest: 9 cases, 10 on record']);
});
