import { readable, unifiedDiff } from './object-diff.ts';

test('a unified diff has the ranges that diff -u gives', () => {
  const lines = (n: number, change: Record<number, string> = {}) =>
    `${Array.from({ length: n }, (_, i) => change[i + 1] ?? `line ${i + 1}`).join('\n')}\n`;
  expect(unifiedDiff(lines(20), lines(20, { 2: 'two', 15: 'fifteen' }))).toEqual([
    '@@ -1,5 +1,5 @@',
    ...[' line 1', '-line 2', '+two', ' line 3', ' line 4', ' line 5'],
    '@@ -12,7 +12,7 @@',
    ...[' line 12', ' line 13', ' line 14', '-line 15', '+fifteen', ' line 16', ' line 17', ' line 18'],
  ]);
  expect(unifiedDiff('', 'a\n')).toEqual(['@@ -0,0 +1 @@', '+a']);
  expect(unifiedDiff('a\n', 'a\n')).toEqual([]);
});

test('a new text has only plus lines, a deleted one only minus lines', () => {
  expect(unifiedDiff('', 'a\nb\n')).toEqual(['@@ -0,0 +1,2 @@', '+a', '+b']);
  expect(unifiedDiff('a\nb\n', '')).toEqual(['@@ -1,2 +0,0 @@', '-a', '-b']);
});

test('unchanged lines between two changes are shown', () => {
  const shown = unifiedDiff('a\nkeep\nb\n', 'x\nkeep\ny\n');
  expect(shown).toEqual(['@@ -1,3 +1,3 @@', '-a', '+x', ' keep', '-b', '+y']);
});

test('members that only the server sets, and values of Secrets, are not shown', () => {
  const metadata = { name: 'x', resourceVersion: '7', uid: 'u', managedFields: [] };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { key: 'c2VjcmV0' }, status: {} };
  expect(readable(secret)).toBe('apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  key: (not shown)\n');
});
