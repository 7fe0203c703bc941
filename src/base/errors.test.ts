import { eachError, errorText, OperatorError, throwAll } from './errors.ts';

const failure = (text: string): OperatorError => new OperatorError('ERR_API_REQUEST', text);

test('throwAll throws one failure as it is, several as one AggregateError, and nothing for an empty list', () => {
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

test('the text of several failures repeats none of them and shows at most five', () => {
  expect(errorText(new AggregateError([failure('a'), failure('b'), failure('a')]))).toBe('a; b');
  const many = [1, 2, 3, 4, 5, 6, 7].map((n) => failure(`f${n}`));
  expect(errorText(new AggregateError(many))).toBe('f1; f2; f3; f4; f5; and 2 more');
});
