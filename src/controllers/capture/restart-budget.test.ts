import { RestartBudget, restartCauses } from './restart-budget.ts';

const names = (...of: string[]): ReadonlySet<string> => new Set(of);
const aBudget = (): RestartBudget => new RestartBudget({ burst: 2, refillMs: 1_000 });

test('a namespace may cause `burst` restarts in a row, then one every `refillMs`', () => {
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

test('a restart that did not happen is given back to the budget, which never exceeds `burst`', () => {
  const budget = aBudget();
  for (let i = 0; i < 2; i++) budget.spend(names('shop'), 0);
  budget.refund(names('shop', 'pay'));
  expect(budget.allowedAt(names('shop'), 0)).toBe(0);
  for (let i = 0; i < 9; i++) budget.refund(names('shop'));
  for (let i = 0; i < 2; i++) budget.spend(names('shop'), 0);
  expect(budget.allowedAt(names('shop'), 0)).toBe(1_000);
});

test('without restarts the budget refills to `burst` and no further', () => {
  const budget = aBudget();
  budget.spend(names('shop'), 0);
  for (let i = 0; i < 2; i++) budget.spend(names('shop'), 1_000_000);
  expect(budget.allowedAt(names('shop'), 1_000_000)).toBe(1_001_000);
});

const running = { 'TrafficMonitor/shop/a': 1, 'TrafficMonitor/pay/b': 1, 'ClusterTrafficPolicy/p': 1 };

test.each([
  ['for an edited monitor with changed entries, the monitor’s', { 'TrafficMonitor/shop/a': 2 }, false, ['shop']],
  ['for an edited monitor without changed entries, none', { 'TrafficMonitor/pay/b': 2 }, false, []],
  ['for an edit of a monitor that concerns every process, the monitor’s', { 'TrafficMonitor/pay/b': 2 }, true, ['pay']],
  ['for a new monitor, the monitor’s', { 'TrafficMonitor/shop/c': 1 }, false, ['shop']],
  [
    'for an edited policy, which the platform team edits, none',
    { 'TrafficMonitor/shop/a': 2, 'ClusterTrafficPolicy/p': 2 },
    true,
    [],
  ],
  ['for a change without a new generation, none', {}, true, []],
])('the namespaces to whose budget a restart is charged: %s', (_what, edit, general, wanted) => {
  const changes = { general, namespaces: names('shop', 'elsewhere') };
  expect([...restartCauses(running, { ...running, ...edit }, changes, names('shop', 'pay'))]).toEqual(wanted);
});

test.each([
  [
    'a restart for a monitor that was deleted and created again is charged to its namespace',
    'TrafficMonitor/shop/a@second',
    ['shop'],
  ],
  [
    'a key of version 0.1.0, which has no uid, counts as the same monitor: nothing is charged',
    'TrafficMonitor/shop/a',
    [],
  ],
  ['a restart for a policy that was created again is charged to no namespace', 'ClusterTrafficPolicy/p@second', []],
])('%s', (_what, key, wanted) => {
  const desired = {
    'TrafficMonitor/shop/a@first': 1,
    'TrafficMonitor/pay/b@first': 2,
    'ClusterTrafficPolicy/p@first': 1,
  };
  const others = Object.entries(desired).filter(([name]) => !name.startsWith(key.split('@')[0]!));
  const before = { ...Object.fromEntries(others), [key]: 1 };
  const changes = { general: true, namespaces: names() };
  expect([...restartCauses(before, desired, changes, names('shop', 'pay'))]).toEqual(wanted);
});
