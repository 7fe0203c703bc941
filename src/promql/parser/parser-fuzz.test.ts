import { randomExpression } from '../../testing/promql/random-expression.ts';
import { Random } from '../../testing/promql/random.ts';
import { ParseError, parse, print, type Expr } from '../index.ts';

const features = { experimentalFunctions: true, extendedRangeSelectors: true, fillModifiers: true };
const scope = { histograms: true, experimental: true, start: 0, end: 3_600_000 };
const pieces = [
  '(',
  ')',
  '{',
  '}',
  '[',
  ']',
  '"',
  '`',
  "'",
  '@',
  'offset',
  'by',
  '-',
  '^',
  '\\',
  '\u0000',
  'ü',
  '1e',
  '#',
  ',',
];

/** The text with a few pieces taken out, put in or doubled. */
function damaged(random: Random, text: string): string {
  let result = text;
  for (let i = 0; i <= random.below(3); i++) {
    const [at, length] = [random.below(result.length + 1), random.below(6)];
    const added = random.pick([random.pick(pieces), result.slice(at, at + length), '']);
    result = result.slice(0, at) + added + result.slice(at + random.below(4));
  }
  return result;
}

test('the printed form of a random expression parses to the same tree', () => {
  const random = new Random(1);
  let parsed = 0;
  for (let i = 0; i < 3_000; i++) {
    const expr = accepted(randomExpression(random, scope));
    if (expr === null) continue;
    const text = print(expr);
    const again = parse(text, features);
    expect(print(again)).toBe(text);
    expect({ text, tree: bare(again) }).toEqual({ text, tree: bare(expr) });
    parsed++;
  }
  expect(parsed).toBeGreaterThan(2_800);
});

/** The tree without positions, which printing changes, and with matchers in order, as the printer puts them. */
function bare(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(bare);
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).filter(([key]) => key !== 'start' && key !== 'end' && key !== 'position');
  return Object.fromEntries(
    members.map(([key, own]) => [
      key,
      key === 'matchers' ? (own as object[]).map((one) => JSON.stringify(one)).toSorted() : bare(own),
    ]),
  );
}

/** The tree, or null for a generated text that is not an expression, such as `a * group_left (b)` without labels. */
function accepted(text: string): Expr | null {
  try {
    return parse(text, features);
  } catch (error) {
    if (error instanceof ParseError) return null;
    throw error;
  }
}

test('a damaged expression either parses and keeps its printed form, or is refused with a position', () => {
  const random = new Random(2);
  let refused = 0;
  for (let i = 0; i < 10_000; i++) {
    const text = damaged(random, randomExpression(random, scope));
    try {
      const printed = print(parse(text, features));
      expect({ text, printed: print(parse(printed, features)) }).toEqual({ text, printed });
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      if (text !== '') expect(error.message).toMatch(/^\d+:\d+: parse error: ./);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(3_000);
});

test.each([
  ['a very long row of brackets', '('.repeat(100_000)],
  ['a very long row of signs', '-'.repeat(100_000)],
  ['a very long row of powers', '1^'.repeat(100_000)],
  ['a very long open string', `"${'a'.repeat(1_000_000)}`],
])('%s is refused quickly', (_, text) => {
  const before = process.cpuUsage();
  expect(() => parse(text)).toThrow(ParseError);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});
