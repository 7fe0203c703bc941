import { compileMatcher, matchesAll } from './matcher.ts';
import { checkPattern, compilePattern } from './pattern.ts';

describe('matchers', () => {
  test.each([
    ['a whole value, not a part of it', 'foo', 'foobar', false],
    ['an alternative only as a whole value', 'a|b', 'ab', false],
    ['each alternative', 'a|b', 'b', true],
    ['a newline with a dot', 'a.b', 'a\nb', true],
    ['a prefix with anything after it', 'ab.*', 'ab\nc', true],
    ['at least one character for .+', 'ab.+', 'ab', false],
    ['character classes', '5..|4\\d\\d', '404', true],
    ['any case with (?i)', '(?i)FOO', 'foo', true],
    ['an empty value with .*', '.*', '', true],
  ])('a pattern matches %s', (_, pattern, value, expected) => {
    expect(compilePattern(pattern)(value)).toBe(expected);
  });

  test('a pattern that makes a backtracking engine explode takes linear time', () => {
    expect(compilePattern('(a+)+b')('a'.repeat(5_000))).toBe(false);
  });

  test('a value that would take long to match is refused, and a shorter one is matched quickly', () => {
    const matches = compilePattern('(a|b)*a(a|b){12}');
    const before = process.cpuUsage();
    expect(matches('ab'.repeat(2_000))).toBe(false);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(400);
    expect(() => matches('ab'.repeat(5_000))).toThrow(
      /label value of 10000 characters for a regular expression, at most/,
    );
  });

  test('a wide range whose case is ignored makes a pattern dear to compile, but not to match', () => {
    expect(compilePattern('(?i).*[\\x80-\\x{10FFFF}].*')('é'.padEnd(256, 'a'))).toBe(true);
  });

  test('a bad pattern is refused with a reason', () => {
    expect(checkPattern('(')).toBe('error parsing regexp: missing closing ): `(`');
    expect(checkPattern('a(b)')).toBeNull();
  });

  test('a missing label equals the empty string', () => {
    const labels = [['a', '1']] as const;
    const all = (...types: ['=' | '!=' | '=~' | '!~', string, string][]): boolean =>
      matchesAll(
        types.map(([type, name, value]) => compileMatcher({ type, name, value })),
        labels,
      );
    expect(all(['=', 'b', ''], ['=', 'a', '1'])).toBe(true);
    expect(all(['!=', 'b', ''])).toBe(false);
    expect(all(['!~', 'a', '1|2'])).toBe(false);
  });
});
