import { NodeLedger } from './node-ledger.ts';
import type { LostNode } from './failure.ts';

const lost = (node: string): LostNode => ({ node, reason: 'timeout', message: 'late', elapsedMs: 1 });
const voided = 'an agent was lost in the middle of the query';

test('a node lost in an earlier part of the query is left out of later parts, without a restart', () => {
  const ledger = new NodeLedger(new Map());
  expect(ledger.settle(['a'], [lost('b')])).toEqual(new Set(['a']));
  expect(ledger.settle(['a', 'b'], [])).toEqual(new Set(['a']));
  expect([ledger.restart, [...ledger.lost.keys()]]).toEqual([false, ['b']]);
});

test('a node that is lost after its data was used voids the evaluation', () => {
  const ledger = new NodeLedger(new Map());
  ledger.settleAll(['a', 'b'], []);
  expect(() => ledger.settle(['a'], [lost('b')])).toThrow(voided);
  expect(ledger.restart).toBe(true);
});

test('a result that already includes the data of a node lost by another part voids the evaluation', () => {
  const ledger = new NodeLedger(new Map());
  ledger.settleAll(['a'], [lost('b')]);
  expect(() => ledger.settleAll(['a', 'b'], [])).toThrow(voided);
  expect([ledger.restart, [...ledger.lost.keys()]]).toEqual([true, ['b']]);
  // The next attempt leaves the node out from the start.
  const next = new NodeLedger(ledger.lost);
  next.settleAll(['a'], []);
  expect(next.restart).toBe(false);
});
