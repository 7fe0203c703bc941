import fc from 'fast-check';
import { parse, print, type Matcher } from '../../../promql/index.ts';
import { anyOf } from '../../../base/text/texts.ts';
import { anyText } from '../../../testing/any-text.ts';
import { fillTemplate, readTemplate, takesSeries } from './query-template.ts';

/** Characters that could let a value escape from its place in the query. */
const hostile = fc.oneof(
  anyText({ maxLength: 12 }),
  fc
    .array(
      fc.constantFrom(
        '"',
        "'",
        '`',
        '\\',
        '}',
        '{',
        ')',
        '(',
        ' or ',
        'x',
        '|',
        '.*',
        '#',
        '\n',
        ',',
        '=',
        '~',
        '<<.Series>>',
        '\\x22',
      ),
      { maxLength: 8 },
    )
    .map((words) => words.join('')),
);
const name = hostile.filter((text) => text !== '');
const word = fc.oneof(hostile, fc.constantFrom('inf', 'nan', 'sum', 'on', 'offset', 'a:b', 'bool', 'and', 'by'));
const matcher: fc.Arbitrary<Matcher> = fc.oneof(
  fc.record({ type: fc.constantFrom<Matcher['type']>('=', '!='), name, value: hostile }),
  fc.record({
    type: fc.constantFrom<Matcher['type']>('=~', '!~'),
    name,
    value: fc.array(hostile, { minLength: 2, maxLength: 3 }).map(anyOf),
  }),
);

/** The syntax tree without positions, names and text. It must not depend on the values. */
function structure(query: string, matchers: number): string {
  return JSON.stringify(parse(query), (key, value: unknown) => {
    if (['start', 'end', 'pos', 'text'].includes(key)) return undefined;
    if (key === 'matchers') return `${(value as unknown[]).length - matchers} and those put in`;
    if (key === 'func') return (value as { name: string }).name;
    if (key === 'name') return undefined;
    if (key === 'grouping') return (value as unknown[]).length;
    if (key === 'value' && typeof value === 'string') return '…';
    return value;
  });
}

const templates: [string, string][] = [
  ['conditions', 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)'],
  ['a value in double quotes', 'max(a{x="<<.LabelValuesByName.pod>>",<<.LabelMatchers>>}) by (<<.GroupBy>>)'],
  ['a value in single quotes', `max(a{x='say "<<.LabelValuesByName.pod>>" it\\'s'}) or b{<<.LabelMatchers>>}`],
  ['a value in back quotes', 'max(a{x=`"\\<<.LabelValuesByName.pod>>`}) or b{<<.LabelMatchers>>}'],
  ['a value in a pattern', 'a{x=~"(<<index .LabelValuesByName "pod">>)-.+",<<.LabelMatchers>>}'],
  [
    'the series as text',
    'label_replace({"<<.Series>>",<<.LabelMatchers>>}, "y", "<<.GroupBy>>", "x", "(.*)") # <<.Series>>\n',
  ],
];

test.each(templates)('no value changes the structure of a query: %s', (_what, text) => {
  const template = readTemplate(text, 'metricsQuery');
  const plain = (count: number): string =>
    fillTemplate(template, {
      series: 'a',
      matchers: Array.from({ length: count }, () => ({ type: '=', name: 'n', value: 'v' })),
      label: 'l',
    });
  fc.assert(
    fc.property(word, fc.array(matcher, { maxLength: 3 }), name, hostile, (given, others, label, value) => {
      const series = given !== '' && takesSeries(template, given) ? given : 'a';
      const matchers: Matcher[] = [...others, { type: '=', name: 'pod', value }];
      const query = fillTemplate(template, { series, matchers, label });
      expect(structure(query, matchers.length)).toBe(structure(plain(matchers.length), matchers.length));
    }),
    { numRuns: 300 },
  );
});

test('conditions come back from the parser as they were given', () => {
  const template = readTemplate('a{<<.LabelMatchers>>}', 'metricsQuery');
  fc.assert(
    fc.property(fc.array(matcher, { minLength: 1, maxLength: 3 }), (matchers) => {
      const expr = parse(fillTemplate(template, { series: '', matchers, label: undefined }));
      const read = expr.kind === 'vector' ? expr.matchers.slice(0, -1) : [];
      expect(read.map(({ name, type, value }) => ({ name, type, value }))).toEqual(
        matchers.map(({ name, type, value }) => ({ name, type, value })),
      );
    }),
    { numRuns: 300 },
  );
});

test('a value in a pattern matches only itself', () => {
  const template = readTemplate('a{x=~"<<.LabelValuesByName.pod>>-.+"}', 'metricsQuery');
  const matchers: Matcher[] = [{ type: '=', name: 'pod', value: '.*|"b' }];
  expect(fillTemplate(template, { series: '', matchers, label: undefined })).toBe('a{x=~"\\\\.\\\\*\\\\|\\"b-.+"}');
});

test('several names in a pattern stay alternatives', () => {
  const template = readTemplate('a{x=~"<<.LabelValuesByName.pod>>"}', 'metricsQuery');
  const matchers: Matcher[] = [{ type: '=~', name: 'pod', value: 'a|b' }];
  expect(fillTemplate(template, { series: '', matchers, label: undefined })).toBe('a{x=~"a|b"}');
});

test.each([
  ['a name that needs quotes', 'x"} or vector(1)', false],
  ['a keyword', 'inf', false],
  ['a plain name', 'job:http_requests:rate5m', true],
])('outside of strings, a series name is accepted only if it is plain: %s', (_what, series, taken) => {
  expect(takesSeries(readTemplate('sum(<<.Series>>)', 'metricsQuery'), series)).toBe(taken);
  expect(takesSeries(readTemplate('sum({"<<.Series>>"})', 'metricsQuery'), series)).toBe(true);
});

test.each([
  ['a value outside of a string', 'a * <<.LabelValuesByName.pod>>', /only inside of a string/],
  ['conditions inside of a string', 'a{x="<<.LabelMatchers>>"}', /cannot stand inside of a string/],
  ['an unknown placeholder', 'a{<<.Namespace>>}', /rules\[0\]\.metricsQuery: cannot read "<<\.Namespace>>/],
])('%s is refused when the rule is read', (_what, text, message) => {
  expect(() => readTemplate(text, 'rules[0].metricsQuery')).toThrow(message);
});

test('strings without placeholders keep their text', () => {
  const text = 'label_replace(a, "x", `$1`, "y", \'(.*)#\')';
  const filled = fillTemplate(readTemplate(text, 'q'), { series: '', matchers: [], label: undefined });
  expect(print(parse(filled))).toBe(print(parse(text)));
});
