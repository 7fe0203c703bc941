import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { pathRewriter, patternFault } from './redaction-pattern.ts';

test.each([
  ['(', 'x', /^pattern: .*RE2/],
  ['a(?=b)', 'x', /^pattern: /],
  ['a', '$1', /^replacement: \$1 names a group/],
  ['a', 'cost $', /^replacement: .*no group number/],
])('the refusal to rewrite %s into %s names the field that is wrong', (pattern, replacement, message) => {
  expect(patternFault(pattern, replacement)).toMatch(message);
});

test.each([
  ['/users/[0-9]+', '/users/{id}', '/users/17/users/18', '/users/{id}/users/{id}'],
  ['/(\\w+)/secret/[^/]+', '/$1/secret/*', '/a/secret/b/c', '/a/secret/*/c'],
  ['x', 'y', '/none', '/none'],
  ['^', '/base', '/a', '/base/a'],
])('%s → %s rewrites %s to %s', (pattern, replacement, path, expected) => {
  expect(patternFault(pattern, replacement)).toBeNull();
  expect(pathRewriter(pattern, replacement)(path)).toBe(expected);
});

test('a pattern that would take exponential time in a backtracking engine is fast', () => {
  const rewrite = pathRewriter('(a+)+$', 'b');
  const before = process.cpuUsage();
  expect(rewrite(`${'a'.repeat(5_000)}!`)).toBe(`${'a'.repeat(5_000)}!`);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(2_000);
});

test('a dear pattern is compiled once, however many cheap ones are judged in between', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const dear = '/judged/[\\p{L}\\p{N}]{1,64}';
  const first = patternFault(dear, '');
  for (let i = 0; i < 3_000; i++) patternFault(`/judged/[0-9]+/${i}`, '');
  const again = patternFault(dear, '/$1');
  const compiled = compile.mock.calls.filter(([pattern]) => pattern === dear).length;
  compile.mockRestore();
  expect([first, again, compiled]).toEqual([null, expect.stringContaining('$1 names a group'), 1]);
});

test('a pattern that is no expression is compiled once, too', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const faults = [patternFault('/judged/(', ''), patternFault('/judged/(', '')];
  const compiled = compile.mock.calls.length;
  compile.mockRestore();
  expect([...faults, compiled]).toEqual([
    expect.stringContaining('is no RE2 expression'),
    expect.stringContaining('is no RE2 expression'),
    1,
  ]);
});
