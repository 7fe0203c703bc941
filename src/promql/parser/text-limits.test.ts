import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { queryLimits } from '../limits.ts';
import { Engine, parse, parseSelector } from '../index.ts';
import { TextLimits } from './text-limits.ts';

const { textLength, depth, selectors, matchers, listedLabels, patterns } = queryLimits;
const listOf = (labels: number): string => Array.from({ length: labels }, (_, i) => `l${i}`).join(',');
const chain = (links: number): string => Array.from({ length: links }, (_, i) => `vector(${i})`).join(' or ');

describe('a query that is too large is refused before it is compiled or walked', () => {
  test.each([
    ['an overlong text', `x{a="${'a'.repeat(textLength)}"}`, /query is too large: characters: \d+, at most 131072/],
    ['a chain of 5,000 operators', chain(5_000), /nested deeper than 500 levels/],
    ['nested parentheses', `${'('.repeat(20_000)}1${')'.repeat(20_000)}`, /nested deeper than 500 levels/],
    ['nested calls', `${'abs('.repeat(2_000)}x${')'.repeat(2_000)}`, /nested deeper/],
    ['minus signs in a row', `${'-'.repeat(20_000)}x`, /nested deeper/],
    ['nested durations', `x[${'('.repeat(20_000)}1${')'.repeat(20_000)}]`, /nested deeper/],
    ['negated durations', `x[5m] offset (${'-'.repeat(20_000)}1)`, /nested deeper/],
    ['nested subqueries', `x${'[1m:1m]'.repeat(10_000)}`, /nested deeper/],
    ['powers to the right', Array(5_000).fill('1').join(' ^ '), /nested deeper than 500 levels/],
    [
      'too many selectors',
      Array(selectors + 1)
        .fill('x')
        .join(' + '),
      /selectors: 51, at most 50/,
    ],
    [
      'too many selectors in one call',
      `label_join(x, ${Array(selectors + 1)
        .fill('x')
        .join(',')})`,
      /selectors: 51, at most 50/,
    ],
    [
      'too many matchers',
      `x{${Array(matchers + 1)
        .fill('a!="b"')
        .join(',')}}`,
      /matchers: 2001, at most 2000/,
    ],
    ...['sum by', 'sum without'].map((of): [string, string, RegExp] => [
      `too many labels of ${of}`,
      `${of} (${listOf(listedLabels + 1)}) (x)`,
      /labels in lists: 2001, at most 2000/,
    ]),
    ...['on', 'ignoring', 'on () group_left', 'ignoring () group_right'].map((of): [string, string, RegExp] => [
      `too many labels of ${of}`,
      `x * ${of} (${listOf(listedLabels + 1)}) y`,
      /labels in lists: 2001, at most 2000/,
    ]),
    ...['sort_by_label(x', 'label_join(x, "a", ""'].map((call): [string, string, RegExp] => [
      `too many labels of ${call}, …)`,
      `${call}${', "l"'.repeat(listedLabels + 5)})`,
      /labels in lists: 2001, at most 2000/,
    ]),
    [
      'too many labels of several lists',
      `sum by (${listOf(1_500)}) (x) * on (${listOf(501)}) y`,
      /labels in lists: 2001, at most 2000/,
    ],
    [
      'too many regular expressions',
      `x{${Array.from({ length: patterns + 1 }, (_, i) => `a=~"${i}.+x"`).join(',')}}`,
      /regular expressions: 51, at most 50/,
    ],
    [
      'an expensive regular expression',
      `x{a=~"${'\\\\pL'.repeat(2_000)}"}`,
      /cost of a regular expression: \d+, at most 20000/,
    ],
    [
      'expensive regular expressions together',
      `x{a=~"${'\\\\pL'.repeat(230)}",b=~"${'\\\\pN'.repeat(230)}"}`,
      /cost of all regular expressions: \d+, at most 30000/,
    ],
    [
      'an expensive regular expression in label_replace',
      `label_replace(x, "a", "", "b", "${'\\\\pL'.repeat(2_000)}")`,
      /cost of a regular expression/,
    ],
  ])('%s', (_, text, reason) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ errorType: 'bad_data', message: expect.stringMatching(reason) }),
    );
  });

  test('everyday queries are far below the limits', () => {
    const pods = Array.from({ length: 1_000 }, (_, i) => `checkout-7f9c4d5b6-${i}\\\\.shop`).join('|');
    expect(() => parse(`sum(rate(x{pod=~"${pods}"}[5m])) / sum(rate(y{pod=~"${pods}"}[5m]))`)).not.toThrow();
    expect(() => parse(`sum by (${listOf(listedLabels)}) (x)`)).not.toThrow();
    expect(() => parse(`label_join(x, "a", ""${', "l"'.repeat(listedLabels)})`)).not.toThrow();
    expect(() => parse(chain(depth))).not.toThrow();
    expect(() => parse(`${'('.repeat(depth - 1)}1${')'.repeat(depth - 1)}`)).not.toThrow();
  });

  test('an expression of the greatest depth is evaluated', async () => {
    const source = { select: async () => ({ series: [] }) };
    const nested = `${'abs('.repeat(depth - 3)}vector(-1)${')'.repeat(depth - 3)}`;
    for (const query of [chain(depth), nested]) {
      await expect(new Engine().instant(query, 0, { source })).resolves.toBeDefined();
    }
  });

  test('a regular expression in every matcher of a query is compiled once', () => {
    const compile = jest.spyOn(RE2JS, 'compile');
    try {
      // Each compilation takes some milliseconds.
      const all = Array.from({ length: matchers - 1 }, (_, i) => `l${i}=~"(?:.{30}x){20}"`);
      expect(() => parse(`x{${all.join(',')}}`)).not.toThrow();
      expect(compile.mock.calls.length).toBe(1);
    } finally {
      compile.mockRestore();
    }
  });

  test('selectors of one request share the limits', () => {
    const limits = new TextLimits();
    for (let i = 0; i < selectors; i++) parseSelector('x', limits);
    expect(() => parseSelector('x', limits)).toThrow(/selectors: 51, at most 50/);
  });
});
