import { eachError, errorText, OperatorError, throwAll } from './errors.ts';

const failure = (text: string): OperatorError => new OperatorError('ERR_API_REQUEST', text);

test('one failure is thrown as it is, several as one error with all of them; without any nothing is thrown', () => {
  const [a, b] = [failure('a'), failure('b')];
  expect(() => throwAll([])).not.toThrow();
  expect(() => throwAll([a])).toThrow(a);
  try {
    throwAll([a, new AggregateError([b])]);
    throw new Error('nothing was thrown');
  } catch (error) {
    expect(eachError(error)).toEqual([a, b]);
  }
});

test('the text of several failures has each different one once, and five at the most', () => {
  expect(errorText(new AggregateError([failure('a'), failure('b'), failure('a')]))).toBe('a; b');
  const many = [1, 2, 3, 4, 5, 6, 7].map((n) => failure(`f${n}`));
  expect(errorText(new AggregateError(many))).toBe('f1; f2; f3; f4; f5; and 2 more');
});
