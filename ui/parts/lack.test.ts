import { lostNodeWarning } from '../../src/api/page/lost-node.ts';
import { unitedLack } from './lack.ts';

const lost = (node: string, ms: number): string => lostNodeWarning(node, `timeout after ${ms} ms: no answer`);

test('what several answers lack is said once: each node, the first reason of each, and all other warnings', () => {
  const lacks = [10_003, 9_998, 10_001].map((ms) => ({
    missing: ['node-3', 'node-1'],
    warnings: [lost('node-1', ms), lost('node-3', ms), 'the window was cut'],
  }));
  expect(unitedLack([...lacks, { missing: [], warnings: ['a counter was reset'] }])).toEqual({
    missing: ['node-1', 'node-3'],
    reasons: [lost('node-1', 10_003), lost('node-3', 10_003)],
    warnings: ['the window was cut', 'a counter was reset'],
  });
});

test('a warning about a node that no answer lists as missing stays among the warnings', () => {
  const text = lost('node-2', 5);
  expect(unitedLack([{ missing: ['node-3'], warnings: [text] }])).toEqual({
    ...{ missing: ['node-3'], reasons: [], warnings: [text] },
  });
});
