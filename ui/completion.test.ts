import { dataChoice, languageChoices, matching, placeAt } from './completion.ts';

/** The cursor is where the bar stands. */
const at = (marked: string): ReturnType<typeof placeAt> => placeAt(marked.replace('|', ''), marked.indexOf('|'));

test.each([
  ['|', { kind: 'name', from: 0, word: '' }],
  ['htt|', { kind: 'name', from: 0, word: 'htt' }],
  ['sum(rate(ht|', { kind: 'name', from: 9, word: 'ht' }],
  ['a + b|', { kind: 'name', from: 4, word: 'b' }],
  ['up{|', { kind: 'label', from: 3, word: '', metric: 'up' }],
  ['up{a="x", no|de}', { kind: 'label', from: 10, word: 'no', metric: 'up' }],
  ['{na|', { kind: 'label', from: 1, word: 'na', metric: undefined }],
  ['up{node="n|', { kind: 'value', from: 9, word: 'n', metric: 'up', label: 'node', quote: '"' }],
  ["up{node=~'|'}", { kind: 'value', from: 10, word: '', metric: 'up', label: 'node', quote: "'" }],
  ['sum by (|) (rate(up[5m]))', { kind: 'label', from: 8, word: '', metric: 'up' }],
  ['sum(rate(up{a="b"}[5m])) by (x, y|', { kind: 'label', from: 32, word: 'y', metric: 'up' }],
  ['a / ON (n|) b', { kind: 'label', from: 8, word: 'n', metric: 'a' }],
  ['rate(up[5|', undefined],
  ['rate(up[|', undefined],
  ['up # comm|', undefined],
  ['up{node=|', undefined],
  ['10|', undefined],
  ['label_replace(up, "x|', undefined],
  ['up{a="done"}|', { kind: 'name', from: 12, word: '' }],
  ['up{a="it\\"s|', { kind: 'value', from: 6, word: 'it\\"s', metric: 'up', label: 'a', quote: '"' }],
])('%s', (marked, place) => {
  expect(at(marked)).toEqual(place);
});

test('functions, aggregations and words of the language are there, and those that begin so come first', () => {
  const rates = matching(languageChoices, 'rate').map(({ text, insert }) => [text, insert]);
  expect(rates[0]).toEqual(['rate', 'rate(']);
  expect(rates.map(([text]) => text)).toContain('irate');
  expect(languageChoices.map(({ text }) => text)).toEqual(
    expect.arrayContaining(['sum', 'histogram_quantile', 'by', 'offset', 'and', 'group_left']),
  );
});

test('a word that is written out has nothing to choose', () => {
  expect(matching([{ text: 'up', what: 'metric', insert: 'up' }], 'up')).toEqual([]);
});

test('what is chosen is written so that it parses: quoted names, escaped values with their end', () => {
  const name = at('|')!;
  expect(dataChoice(name, 'foo.bar').insert).toBe('{"foo.bar"}');
  expect(dataChoice(name, 'job:sum').insert).toBe('job:sum');
  expect(dataChoice(at('up{|')!, 'a.b').insert).toBe('"a.b"');
  expect(dataChoice(at('up{a="|')!, 'say "x\\y"').insert).toBe('say \\"x\\\\y\\""');
  expect(dataChoice(at('up{a=`|')!, 'x"y').insert).toBe('x"y`');
});
