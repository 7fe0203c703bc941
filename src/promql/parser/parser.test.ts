import fc from 'fast-check';
import { ParseError } from '../errors.ts';
import { typeOf } from './ast.ts';
import { functionTable } from './functions.ts';
import { parse, parseSelector } from './parser.ts';
import { print, printInOrder } from './printer.ts';

const everything = { experimentalFunctions: true, fillModifiers: true, extendedRangeSelectors: true };

/** The ParseError that `parse` throws for a text, or undefined if it parses. Errors: any other error. */
function refusalOf(text: string): ParseError | undefined {
  try {
    parse(text, everything);
    return undefined;
  } catch (error) {
    if (error instanceof ParseError) return error;
    throw error;
  }
}

describe('parse', () => {
  test.each([
    ['an empty text has no expression', '', 'unknown position: parse error: no expression found in input'],
    ['a text of spaces has no expression', '  ', '1:1: parse error: no expression found in input'],
    ['an open parenthesis is reported at the end', 'sum(', '1:5: parse error: unclosed left parenthesis'],
    ['an open bracket is reported at the end', 'x[5m', '1:5: parse error: unclosed left bracket'],
    ['a closing parenthesis needs an opening one', 'x)', "1:2: parse error: unexpected right parenthesis ')'"],
    [
      'rate needs a range',
      'rate(x)',
      '1:6: parse error: expected type range vector in call to function "rate", got instant vector',
    ],
    [
      'an aggregation needs an instant vector',
      'topk(x, 1)',
      '1:9: parse error: expected type instant vector in aggregation expression, got scalar',
    ],
    [
      'a set operator needs two vectors',
      '1 and x',
      '1:1: parse error: set operator "and" not allowed in binary scalar expression',
    ],
    [
      'a comparison of scalars needs bool',
      '1 > 2',
      '1:3: parse error: comparisons between scalars must use BOOL modifier',
    ],
    [
      'bool belongs to comparisons',
      'x + bool y',
      '1:3: parse error: bool modifier can only be used on comparison operators',
    ],
    [
      'a selector must not match everything',
      '{}',
      '1:1: parse error: vector selector must contain at least one non-empty matcher',
    ],
    [
      'a selector needs a matcher that refuses the empty value',
      '{a=~".*"}',
      '1:1: parse error: vector selector must contain at least one non-empty matcher',
    ],
    ['a name is given once', 'x{__name__="y"}', '1:1: parse error: metric name must not be set twice: "x" or "y"'],
    ['a function must exist', 'nosuch(x)', '1:1: parse error: unknown function with name "nosuch"'],
    ['a grouping has a list', 'sum(x) by', '1:10: parse error: unexpected end of input in grouping opts, expected "("'],
    ['an offset is given once', 'x offset 1m offset 2m', '1:1: parse error: offset may not be set multiple times'],
    ['@ is given once', 'x @ 1 @ 2', '1:1: parse error: @ <timestamp> may not be set multiple times'],
    [
      'an offset belongs to a selector',
      '(x) offset 5m',
      '1:1: parse error: offset modifier must be preceded by an instant vector selector or range vector selector or a subquery',
    ],
    ['a range belongs to a selector', '(x)[5m]', '1:4: parse error: ranges only allowed for vector selectors'],
    [
      'a range comes before the offset',
      'x offset 1m [5m]',
      '1:13: parse error: no offset modifiers allowed before range',
    ],
    ['a range is positive', 'x[0m]', '1:3: parse error: duration must be greater than 0'],
    ['a duration is not divided by a constant zero', 'x[5m/0]', '1:5: parse error: division by zero'],
    [
      'group_left has no place in a set operation',
      'x and on (a) group_left y',
      '1:1: parse error: no grouping allowed for "and" operation',
    ],
    [
      'a label is matched or copied, not both',
      'x + on (a) group_left (a) y',
      '1:3: parse error: label "a" must not occur in ON and GROUP clause at once',
    ],
    ['a pattern must be RE2', 'x{a=~"("}', '1:3: parse error: error parsing regexp: missing closing ): `(`'],
    [
      'RE2 has no look-ahead',
      'x{a=~"(?=b)"}',
      '1:3: parse error: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
    ],
    ['a call has no trailing comma', 'abs(x,)', '1:6: parse error: trailing commas not allowed in function call args'],
    [
      'an error in several lines is reported at their start',
      'sum(\n  x,\n  y)',
      '1:1: parse error: wrong number of arguments for aggregate expression provided, expected 1, got 2',
    ],
    ['columns are counted on their line', 'x +\n  nosuch(y)', '2:3: parse error: unknown function with name "nosuch"'],
    ['fill needs a flag', 'x + fill(0) y', '1:1: parse error: binop fill modifiers are experimental and not enabled'],
    ['anchored needs a flag', 'x[5m] anchored', '1:1: parse error: anchored modifier is experimental and not enabled'],
    [
      'experimental functions need a flag',
      'mad_over_time(x[5m])',
      '1:1: parse error: function "mad_over_time" is not enabled',
    ],
  ])('refuses by the rule: %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(ParseError);
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ message, errorType: 'bad_data', code: 'ERR_QUERY_PARSE' }),
    );
  });

  test.each([
    ['power binds before the sign', '-1^2', '-1 ^ 2'],
    ['power goes right to left', '2 ^ 3 ^ 2', '2 ^ 3 ^ 2'],
    ['numbers may be hex', '0x1F', '31'],
    ['numbers may have underscores', '1_000', '1000'],
    ['numbers may end in a dot', '1.', '1'],
    ['numbers may start with a dot', '.5', '0.5'],
    ['numbers are octal after a zero', '017', '15'],
    ['a duration is a number', '1h30m', '1h30m'],
    ['infinity may be in any case', 'inF', 'Inf'],
    ['keywords are labels in braces', 'sum{a="b"}', 'sum{a="b"}'],
    ['keywords are metrics', 'start + offset', 'start + offset'],
    ['keywords are grouping labels', 'sum by (by, on) (x)', 'sum by (by, on) (x)'],
    ['a grouping may come last', 'sum(x) by (a)', 'sum by (a) (x)'],
    ['a grouping may end in a comma', 'sum by (a,) (x)', 'sum by (a) (x)'],
    ['names may be quoted', '{"foo.bar", "a b"="c"}', '{"a b"="c",__name__="foo.bar"}'],
    ['quotes are optional where names are plain', '{"foo"}', '{__name__="foo"}'],
    ['raw strings keep their backslashes', 'x{a=~`\\d+`}', 'x{a=~"\\\\d+"}'],
    ['escapes are bytes of UTF-8', '"\\xc3\\xa9"', '"é"'],
    ['comments end with their line', 'x # what\n + 1', 'x + 1'],
    ['an offset may be negative', 'x offset -5m', 'x offset -5m'],
    ['an offset ends before an operator', 'x offset 5m * 2', 'x offset 5m * 2'],
    ['a time pins a selector', 'x @ 12.5', 'x @ 12.500'],
    ['a subquery may leave its step open', 'x[1h:]', 'x[1h:]'],
    ['durations may be computed', 'x[5m*2]', 'x[5m * 2]'],
    ['durations may use step() and range()', 'x[max_of(step(), 1m)]', 'x[max_of(step(), 1m)]'],
    ['fill may be given for one side', 'x + fill_left(0) y', 'x + fill_left (0) y'],
    ['fill may be a metric name', 'fill + fill', 'fill + fill'],
  ])('accepts: %s', (_, text, printed) => {
    expect(print(parse(text, everything))).toBe(printed);
  });

  test('knows the types of expressions', () => {
    expect(
      ['1', '"a"', 'x', 'x[5m]', 'x[5m:]', '1 + 1', '1 + x', 'scalar(x)', 'sum(x)'].map((t) => typeOf(parse(t))),
    ).toEqual([
      'scalar',
      'string',
      'instant vector',
      'range vector',
      'range vector',
      'scalar',
      'instant vector',
      'scalar',
      'instant vector',
    ]);
  });

  test('parses a selector alone and refuses anything else', () => {
    expect(parseSelector('x{a!~"b"}').matchers).toEqual([
      { type: '!~', name: 'a', value: 'b' },
      { type: '=', name: '__name__', value: 'x' },
    ]);
    expect(() => parseSelector('sum(x)')).toThrow(/expected a vector selector/);
  });

  test('parses any text, or refuses it with a position inside the text', () => {
    let refused = 0;
    const pieces = [
      'sum',
      'x',
      '(',
      ')',
      '{',
      '}',
      '[',
      ']',
      '5m',
      ':',
      '@',
      'offset',
      '"a"',
      '=~',
      '+',
      '-',
      'by',
      ',',
      '1',
      '#',
      '\n',
      '`',
      "'",
      '\\',
      '^',
      'bool',
    ];
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 })), { maxLength: 25 }),
        (parts) => {
          const text = parts.join(' ');
          const refusal = refusalOf(text);
          if (refusal === undefined || text === '') return;
          refused++;
          const { start, end } = refusal.position;
          expect([start >= 0, start <= end, end <= text.length]).toEqual([true, true, true]);
          const [, line, column] = /^(\d+):(\d+): parse error: ./.exec(refusal.message)!.map(Number);
          const lines = text.split('\n');
          expect([line! >= 1, line! <= lines.length]).toEqual([true, true]);
          const bytes = Buffer.byteLength(lines[line! - 1]!);
          expect([column! >= 1, column! <= bytes + 1]).toEqual([true, true]);
        },
      ),
      { numRuns: 500, seed: 7 },
    );
    expect(refused).toBeGreaterThan(300);
  });
});

describe('the function table', () => {
  test('holds 90 functions, of which 17 are experimental', () => {
    expect([...functionTable.values()].filter((f) => f.experimental).map((f) => f.name)).toHaveLength(17);
    expect(functionTable.size).toBe(90);
  });
});

describe('print', () => {
  const name = fc.constantFrom('x', 'http_requests_total', 'a:b', 'foo.bar', 'été', 'by');
  const labelName = fc.constantFrom('a', 'job', 'le', 'a.b', 'on');
  const value = fc.oneof(
    fc.constantFrom('', 'b', '1.5', 'é "q"', '\n\\'),
    fc.string({ maxLength: 4, unit: 'grapheme' }),
  );
  const quoted = (text: string): string => JSON.stringify(text).replaceAll(/[\u007f-\u009f]/g, '?');
  const selector = fc
    .tuple(name, fc.array(fc.tuple(labelName, fc.constantFrom('=', '!='), value), { maxLength: 2 }))
    .map(([metric, matchers]) => {
      const inner = matchers.map(([n, op, v]) => `"${n}"${op}${quoted(v)}`).join(',');
      return `{"${metric}"${inner === '' ? '' : `,${inner}`}}`;
    });
  const timing = fc.constantFrom(
    '',
    ' offset 5m',
    ' offset -90s',
    ' @ 12.345',
    ' @ start()',
    ' @ end() offset 1h',
    ' offset (step()+1m)',
  );
  const duration = fc.constantFrom('5m', '90s', '1h30m', '250ms', '2002ms', '5m*2', 'range()/2', '(1m+30s)^1');
  const { vector } = fc.letrec<{ vector: string; scalar: string }>((tie) => ({
    scalar: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('1', '-2.5', '1e9', 'Inf', '5m', 'time()', 'pi()'),
      fc.tuple(tie('scalar'), fc.constantFrom('+', '-', '*', '/', '^', '%'), tie('scalar')).map((p) => p.join(' ')),
      tie('vector').map((v) => `scalar(${v})`),
      tie('scalar').map((s) => `(${s})`),
    ),
    vector: fc.oneof(
      { maxDepth: 4 },
      fc.tuple(selector, timing).map((p) => p.join('')),
      fc.tuple(selector, duration, timing).map(([s, d, t]) => `rate(${s}[${d}]${t})`),
      fc.tuple(tie('vector'), duration, timing).map(([v, d, t]) => `max_over_time((${v})[${d}:1m]${t})`),
      fc
        .tuple(fc.constantFrom('sum', 'avg by (a)', 'max without ("a.b", job)', 'count by ()'), tie('vector'))
        .map(([a, v]) => `${a} (${v})`),
      fc.tuple(tie('scalar'), tie('vector')).map(([s, v]) => `topk(${s}, ${v})`),
      fc
        .tuple(
          tie('vector'),
          fc.constantFrom(
            '+',
            '/ on (a)',
            '> bool ignoring (a, job)',
            '* on (a) group_left (job)',
            'and',
            'unless on ()',
            '== fill (0)',
            '- fill_left (-1) fill_right (2)',
          ),
          tie('vector'),
        )
        .map(([l, op, r]) => `(${l}) ${op} (${r})`),
      tie('vector').map((v) => `-(${v})`),
    ),
  }));

  test('a printed expression parses to the same tree and prints the same again', () => {
    const bare = (key: string, part: unknown): unknown => (key === 'start' || key === 'end' ? undefined : part);
    const sorted = (key: string, part: unknown): unknown => {
      if (key !== 'matchers') return bare(key, part);
      return (part as object[]).map((m) => JSON.stringify(m)).sort();
    };
    fc.assert(
      fc.property(vector, (text) => {
        const tree = parse(text, everything);
        const printed = print(tree);
        const again = parse(printed, everything);
        expect(print(again)).toBe(printed);
        expect(JSON.parse(JSON.stringify(again, sorted))).toEqual(JSON.parse(JSON.stringify(tree, sorted)));
        const same = parse(printInOrder(tree), everything);
        expect(JSON.parse(JSON.stringify(same, bare))).toEqual(JSON.parse(JSON.stringify(tree, bare)));
      }),
      { numRuns: 200, seed: 11 },
    );
  });
});
