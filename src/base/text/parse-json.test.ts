import { parseJson } from './parse-json.ts';

const size = 128 * 1024;
const list = (length: number): string => `[${Array(length).fill(1).join()}]`;

test.each<[sentence: string, text: string, message: string]>([
  ['that is not JSON', '{', 'the text is not JSON'],
  ['of open brackets, which JSON.parse would take forty times their memory for', '['.repeat(size), 'deeper than 1000'],
  ['that closes all its brackets', '['.repeat(size) + ']'.repeat(size), 'the text is nested deeper than 1000'],
  ['with more values than it may have', list(size), 'the text has more than 100000 values'],
])('a text %s is refused', (_sentence, text, message) => {
  expect(() => parseJson(text, 'the text', 100_000)).toThrow(message);
  expect(() => parseJson(Buffer.from(text), 'the text', 100_000)).toThrow(message);
});

test('a long text within the limits is read, whether it comes as text or as bytes', () => {
  const value = { a: 'ä'.repeat(size), b: Array.from({ length: 1_000 }, (_, i) => ({ i })) };
  const text = JSON.stringify(value);
  expect(parseJson(text, 'the text', 10_000)).toEqual(value);
  expect(parseJson(Buffer.from(text), 'the text', 10_000)).toEqual(value);
});
