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

test('a pattern that costs too much is refused before it is compiled', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const fault = patternFault('(?:.{1,1000})'.repeat(19), '');
  const compiled = compile.mock.calls.length;
  compile.mockRestore();
  expect([fault, compiled]).toEqual([
    'pattern: regular expression is too large: 247 characters cost 399038, at most 20000',
    0,
  ]);
});

test('a pattern that is judged twice in one turn is compiled once', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const faults = [patternFault('/judged/[0-9]+/twice', ''), patternFault('/judged/[0-9]+/twice', '/$1')];
  const compiled = compile.mock.calls.length;
  compile.mockRestore();
  expect([faults[0], faults[1], compiled]).toEqual([null, expect.stringContaining('$1 names a group'), 1]);
});
