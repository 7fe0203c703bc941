import { errorText } from './error-text.ts';

test('an error of the language is shown with the place in its line', () => {
  const message = 'invalid parameter "query": 2:7: parse error: unexpected "]"';
  expect(errorText(message, 'sum(\n  up{]')).toBe('2:7: parse error: unexpected "]"\n\n  up{]\n      ^');
});

test('an error without a place is the sentence alone', () => {
  expect(errorText('query timed out in expression evaluation', 'up')).toBe('query timed out in expression evaluation');
  expect(errorText('9:9: parse error: x', 'up')).toBe('9:9: parse error: x');
});
