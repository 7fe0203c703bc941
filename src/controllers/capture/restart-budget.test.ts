import { RestartBudget, restartCauses } from './restart-budget.ts';

const names = (...of: string[]): ReadonlySet<string> => new Set(of);
const aBudget = (): RestartBudget => new RestartBudget({ burst: 2, refillMs: 1_000 });

test('a namespace may cause a burst of restarts in a row, then one per refill', () => {
  const budget = aBudget();
  budget.spend(names('shop'), 0);
  expect(budget.allowedAt(names('shop'), 0)).toBe(0);
  budget.spend(names('shop'), 0);
  expect(budget.allowedAt(names('shop'), 0)).toBe(1_000);
  expect(budget.allowedAt(names('shop'), 400)).toBe(1_000);
  expect(budget.allowedAt(names('shop'), 1_000)).toBe(1_000);
  budget.spend(names('shop'), 1_000);
  expect(budget.allowedAt(names('shop'), 1_000)).toBe(2_000);
});

test('a restart does not wait if a namespace with budget left asks for it too, or if no namespace asks for it', () => {
  const budget = aBudget();
  for (let i = 0; i < 9; i++) budget.spend(names('shop'), 0);
  expect(budget.allowedAt(names('shop', 'pay'), 5)).toBe(5);
  expect(budget.allowedAt(names(), 5)).toBe(5);
  expect(budget.allowedAt(names('shop'), 5)).toBe(1_000);
});

test('a restart that did not happen is refunded, up to the burst', () => {
  const budget = aBudget();
  for (let i = 0; i < 2; i++) budget.spend(names('shop'), 0);
  budget.refund(names('shop', 'pay'));
  expect(budget.allowedAt(names('shop'), 0)).toBe(0);
  for (let i = 0; i < 9; i++) budget.refund(names('shop'));
  for (let i = 0; i < 2; i++) budget.spend(names('shop'), 0);
  expect(budget.allowedAt(names('shop'), 0)).toBe(1_000);
});

test('in quiet times the budget refills to the burst and no further', () => {
  const budget = aBudget();
  budget.spend(names('shop'), 0);
  for (let i = 0; i < 2; i++) budget.spend(names('shop'), 1_000_000);
  expect(budget.allowedAt(names('shop'), 1_000_000)).toBe(1_001_000);
});

const running = { 'TrafficMonitor/shop/a': 1, 'TrafficMonitor/pay/b': 1, 'ClusterTrafficPolicy/p': 1 };

test.each([
  ['an edited monitor of a namespace with changed entries', { 'TrafficMonitor/shop/a': 2 }, false, ['shop']],
  ['an edited monitor whose entries did not change', { 'TrafficMonitor/pay/b': 2 }, false, []],
  ['a change that concerns every process', { 'TrafficMonitor/pay/b': 2 }, true, ['pay']],
  ['a new monitor', { 'TrafficMonitor/shop/c': 1 }, false, ['shop']],
  [
    'an edited policy, an edit of the platform team',
    { 'TrafficMonitor/shop/a': 2, 'ClusterTrafficPolicy/p': 2 },
    true,
    [],
  ],
  ['a change without a new generation', {}, true, []],
])('a restart is charged to the namespaces that edited: %s', (_what, edit, general, wanted) => {
  const changes = { general, namespaces: names('shop', 'elsewhere') };
  expect([...restartCauses(running, { ...running, ...edit }, changes, names('shop', 'pay'))]).toEqual(wanted);
});
