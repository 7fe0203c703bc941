import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { compileMatcher } from './index.ts';
import { regexShape } from '../base/text/regex-shape.ts';

const texts = ['', 'a', 'b', 'ab', 'abc', 'a.c', 'a\nc', 'A', 'a|b', '(a)', 'x.*', '\u{1F600}', '2xx', '200'];

test.each([
  'a',
  'a|b',
  '(a|b)',
  '(?:a|b)',
  'a|',
  '|',
  '',
  'a.*',
  'a.+',
  '.*',
  '.+',
  'a\\.c',
  'a\\|b',
  '\\(a\\)',
  '(a)|(b)',
  '(a|b)c',
  '[ab]',
  'a?',
  '(?i)a',
  '(?i:a|b)',
  'a\\.*',
  'a|b.*',
  '^a$',
  '2..',
  'x\\.\\*',
  '\\d+',
  'a{1}',
  '.',
  '\\x61',
])('the expression %j matches exactly what the regex engine matches', (source) => {
  const regex = RE2JS.compile(source, RE2JS.DOTALL);
  const yes = compileMatcher({ type: '=~', name: 'l', value: source });
  const no = compileMatcher({ type: '!~', name: 'l', value: source });
  for (const text of texts) {
    expect([text, yes.matches(text)]).toEqual([text, regex.testExact(text)]);
    expect(no.matches(text)).toBe(!yes.matches(text));
  }
  expect(yes.matchesEmpty).toBe(regex.testExact(''));
});

test('plain alternatives and prefixes never reach the regex engine', () => {
  expect(regexShape('(?:GET|POST)')).toEqual({ kind: 'literals', literals: ['GET', 'POST'] });
  expect(regexShape('GET|POST|GET')).toEqual({ kind: 'literals', literals: ['GET', 'POST'] });
  expect(regexShape('api\\.v1.*')).toEqual({ kind: 'prefix', prefix: 'api.v1', minRest: 0 });
  expect(regexShape('[ab]')).toEqual({ kind: 'other' });
  const compile = jest.spyOn(RE2JS, 'compile');
  const ask = (value: string): number => {
    compile.mockClear();
    expect(compileMatcher({ type: '=~', name: 'l', value }).matches('GET')).toBe(value.includes('G'));
    return compile.mock.calls.length;
  };
  expect(['(?:GET|POST)', 'G.*', 'api\\.v1.+', '[G]ET'].map(ask)).toEqual([0, 0, 0, 1]);
  compile.mockRestore();
});

test('a regular expression is evaluated once for each value, also of more than 100,000', () => {
  const evaluate = jest.spyOn(RE2JS.prototype, 'testExact');
  const { matches } = compileMatcher({ type: '=~', name: 'l', value: '[0-9]+7' });
  for (let round = 0; round < 2; round++) for (let i = 0; i < 110_000; i++) matches(`${i}`);
  // One more is for the empty text.
  expect(evaluate.mock.calls.length).toBe(110_001);
  evaluate.mockRestore();
});

test('an expression that makes backtracking engines hang is evaluated quickly', () => {
  const evil = compileMatcher({ type: '=~', name: 'l', value: '(a+)+b' });
  const before = process.cpuUsage();
  expect(evil.matches('a'.repeat(5000))).toBe(false);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(2_000);
});

test('a value that would take long to match is refused, with the expression and the longest allowed', () => {
  const value = '(a|b)*a(a|b){600}';
  const { matches } = compileMatcher({ type: '!~', name: 'path', value });
  expect(matches('b'.repeat(89))).toBe(true);
  expect(() => matches('b'.repeat(90))).toThrow(
    expect.objectContaining({
      code: 'ERR_SELECTION_LIMIT',
      message: `matcher on path: label value of 90 characters for the regular expression "${value}", at most 89`,
    }),
  );
  const long = `[a-c]{300}${'x'.repeat(1_000)}`;
  expect(() => compileMatcher({ type: '=~', name: 'l', value: long }).matches('a'.repeat(1_000))).toThrow(
    /expression "\[a-c\]\{300\}x{90}…", at most \d+$/,
  );
});

test.each(['(?=x)', '(a', '\\1', '*'])('the expression %j is refused', (value) => {
  expect(() => compileMatcher({ type: '=~', name: 'l', value })).toThrow(/matcher on l: bad regular expression/);
});

test('an unknown type of matcher is refused', () => {
  expect(() => compileMatcher({ type: '==' as '=', name: 'l', value: 'x' })).toThrow(/unknown type "=="/);
});
