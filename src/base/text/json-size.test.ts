import { jsonSize } from './json-size.ts';

test.each<[sentence: string, text: string, depth: number, values: number]>([
  ['a number has no depth', '7', 0, 0],
  ['members and elements count', '{"a":[1,2,3],"b":{}}', 2, 6],
  ['lists beside one another are no deeper than one of them', '[[],[],[]]', 2, 6],
  ['brackets and commas in strings do not count', '["[[,{","\\"[[",",\\\\"]', 1, 3],
  ['a text without an end counts as far as it goes', '[[{"a', 3, 3],
  ['a text that ends within an escape counts as far as it goes', '["\\', 1, 1],
  ['closed brackets too many hide no depth that JSON.parse reads', '[]]]]', 1, 1],
])('%s', (_sentence, text, depth, values) => {
  expect(jsonSize(Buffer.from(text))).toEqual({ depth, values });
});
