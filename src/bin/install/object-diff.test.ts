import { lineDiff, readable } from './object-diff.ts';

test('equal texts differ in nothing', () => {
  expect(lineDiff('a: 1\nb: 2\n', 'a: 1\nb: 2\n')).toEqual([]);
});

test('a changed line is shown out and in, with what is around it and no more', () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n');
  const shown = lineDiff(before, before.replace('line 10', 'line ten'), 1);
  expect(shown).toEqual([' line 9', '-line 10', '+line ten', ' line 11', ' …']);
});

test('something new is all plus, something gone all minus', () => {
  expect(lineDiff('', 'a\nb\n')).toEqual(['+a', '+b']);
  expect(lineDiff('a\nb\n', '')).toEqual(['-a', '-b']);
});

test('lines that stay between two changes stay', () => {
  expect(lineDiff('a\nkeep\nb\n', 'x\nkeep\ny\n')).toEqual(['-a', '+x', ' keep', '-b', '+y']);
});

test('what the server keeps for itself, and what is secret, is not shown', () => {
  const metadata = { name: 'x', resourceVersion: '7', uid: 'u', managedFields: [] };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { key: 'c2VjcmV0' }, status: {} };
  expect(readable(secret)).toBe('apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  key: (not shown)\n');
});
