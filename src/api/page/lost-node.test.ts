import { lostNodeOf, lostNodeWarning, united } from './lost-node.ts';

const lost = (node: string, ms: number): string => lostNodeWarning(node, `timeout after ${ms} ms: no answer`);

test('a warning about a missing node names it, and is known by its beginning alone', () => {
  expect(lost('node-3', 7)).toBe('node node-3 is missing from this answer: timeout after 7 ms: no answer');
  expect(lostNodeOf(lost('node-3.example', 7))).toBe('node-3.example');
  for (const other of ['node-3', '', `seen: ${lost('node-3', 7)}`, 'node a b is missing from this answer: no']) {
    expect(lostNodeOf(other)).toBeUndefined();
  }
});

test('of several answers each warning is told once, and each missing node by the first that is told of it', () => {
  const all = [lost('node-3', 10_003), 'cut off', lost('node-1', 5), lost('node-3', 9_998), 'cut off', 'node-1'];
  expect(united(all)).toEqual([lost('node-3', 10_003), 'cut off', lost('node-1', 5), 'node-1']);
});
