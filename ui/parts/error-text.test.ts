import { errorText } from './error-text.ts';

test('an error of the language is shown with the place in its line', () => {
  const message = 'invalid parameter "query": 2:7: parse error: unexpected "]"';
  expect(errorText(message, 'sum(\n  up{]')).toBe('2:7: parse error: unexpected "]"\n\n  up{]\n      ^');
});

test('the mark is under its place after letters of several bytes, which columns count', () => {
  const query = 'sum(a{b="äöü🙂"}) ]';
  const column = new TextEncoder().encode('sum(a{b="äöü🙂"}) ').length + 1;
  const [, , line, mark] = errorText(`1:${column}: parse error: x`, query).split('\n');
  expect(line).toBe(query);
  // The sign of four bytes is one, as letters are.
  expect(mark).toBe(`${' '.repeat([...'sum(a{b="äöü🙂"}) '].length)}^`);
});

test('an error without a place is the sentence alone', () => {
  expect(errorText('query timed out in expression evaluation', 'up')).toBe('query timed out in expression evaluation');
  expect(errorText('9:9: parse error: x', 'up')).toBe('9:9: parse error: x');
});
