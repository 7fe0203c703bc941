import { compileMatcher, matchesAll } from './matcher.ts';
import { checkPattern, compilePattern } from './pattern.ts';

describe('matchers', () => {
  test.each([
    ['a whole value, not a part of it', 'foo', 'foobar', false],
    ['alternatives anchored as a whole', 'a|b', 'ab', false],
    ['each alternative', 'a|b', 'b', true],
    ['a newline with a dot', 'a.b', 'a\nb', true],
    ['a prefix with anything behind it', 'ab.*', 'ab\nc', true],
    ['at least one character for .+', 'ab.+', 'ab', false],
    ['classes', '5..|4\\d\\d', '404', true],
    ['case only where asked', '(?i)FOO', 'foo', true],
    ['an empty value with .*', '.*', '', true],
  ])('a pattern matches %s', (_, pattern, value, expected) => {
    expect(compilePattern(pattern)(value)).toBe(expected);
  });

  test('a pattern that would run for ever elsewhere takes linear time', () => {
    expect(compilePattern('(a+)+b')('a'.repeat(5_000))).toBe(false);
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
