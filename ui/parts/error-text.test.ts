import { errorText } from './error-text.ts';

test('a parse error is shown with its position in the line', () => {
  const message = 'invalid parameter "query": 2:7: parse error: unexpected "]"';
  expect(errorText(message, 'sum(\n  up{]')).toBe('2:7: parse error: unexpected "]"\n\n  up{]\n      ^');
});

test('the mark is under the error also after characters of several bytes, although columns count bytes', () => {
  const query = 'sum(a{b="äöü🙂"}) ]';
  const column = new TextEncoder().encode('sum(a{b="äöü🙂"}) ').length + 1;
  const [, , line, mark] = errorText(`1:${column}: parse error: x`, query).split('\n');
  expect(line).toBe(query);
  // A character of four bytes counts as one character.
  expect(mark).toBe(`${' '.repeat([...'sum(a{b="äöü🙂"}) '].length)}^`);
});

test('an error without a valid position is the message alone', () => {
  expect(errorText('query timed out in expression evaluation', 'up')).toBe('query timed out in expression evaluation');
  expect(errorText('9:9: parse error: x', 'up')).toBe('9:9: parse error: x');
});
