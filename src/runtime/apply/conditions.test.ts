import { conditionTransitions, mergeConditions, progressConditions, summarizeReady } from './conditions.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const meta = { generation: 3, now };
const input = (type: string, status: 'True' | 'False' | 'Unknown', reason = 'R') => ({
  type,
  status,
  reason,
  message: `${type} ${reason}`,
});

test('the transition time moves only when the status changes', () => {
  const before = mergeConditions([], [input('Ready', 'False', 'A')], { generation: 1, now });
  const later = { generation: 2, now: now + 60_000 };
  const [same] = mergeConditions(before, [input('Ready', 'False', 'B')], later);
  expect(same).toMatchObject({ reason: 'B', observedGeneration: 2, lastTransitionTime: '2026-01-02T03:04:05Z' });
  const [other] = mergeConditions(before, [input('Ready', 'True')], later);
  expect(other?.lastTransitionTime).toBe('2026-01-02T03:05:05Z');
});

test('conditions keep their order, new types come last, and unwanted types are removed', () => {
  const before = mergeConditions([], [input('A', 'True'), input('B', 'True'), input('Reconciling', 'True')], meta);
  const after = mergeConditions(before, [input('C', 'True'), input('B', 'False'), input('A', 'True')], meta);
  expect(after.map((c) => c.type)).toEqual(['A', 'B', 'C']);
});

test.each([
  ['the first False of the listed types decides', [input('B', 'False', 'b'), input('A', 'False', 'a')], 'False', 'a'],
  ['False beats Unknown', [input('A', 'Unknown', 'a'), input('B', 'False', 'b')], 'False', 'b'],
  ['Unknown beats True', [input('A', 'True', 'a'), input('B', 'Unknown', 'b')], 'Unknown', 'b'],
  ['all True is Ready', [input('A', 'True'), input('B', 'True')], 'True', 'Ready'],
  ['an absent condition counts as True', [], 'True', 'Ready'],
] as const)('%s', (_what, conditions, status, reason) => {
  const ready = summarizeReady(conditions, ['A', 'B'], { reason: 'Ready', message: 'ok' });
  expect(ready).toMatchObject({ type: 'Ready', status, reason });
});

test('at most one of Reconciling and Stalled is set', () => {
  const why = { reason: 'X', message: 'x' };
  expect(progressConditions({ reconciling: why, stalled: why })).toMatchObject([{ type: 'Stalled', status: 'True' }]);
  expect(progressConditions({ reconciling: why })).toMatchObject([{ type: 'Reconciling' }]);
  expect(progressConditions({})).toEqual([]);
});

test('a transition is a new status or reason, never a new message', () => {
  const before = mergeConditions([], [input('A', 'True'), input('B', 'True')], meta);
  const after = mergeConditions(
    before,
    [{ ...input('A', 'True'), message: 'other' }, input('B', 'False'), input('C', 'True')],
    meta,
  );
  expect(conditionTransitions(before, after).map((t) => t.after.type)).toEqual(['B', 'C']);
});

test('a message is cut to 32,768 characters, the last of them whole', () => {
  const fits = 'x'.repeat(32_767);
  const [condition] = mergeConditions([], [{ ...input('Ready', 'False'), message: `${fits}\u{1f600}` }], meta);
  expect(condition?.message).toBe(fits);
});
