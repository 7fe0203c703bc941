import type { RolloutRules } from './compile/types.ts';
import { planRollout, type RolloutNode } from './rollout.ts';

const rules: RolloutRules = {
  group: 'p',
  maxUnavailable: '100%',
  minIntervalMs: 60_000,
  pauseOnFailure: true,
  canary: null,
};
const node = (name: string, more: Partial<RolloutNode> = {}, ruled: Partial<RolloutRules> = {}): RolloutNode => ({
  name,
  desired: { hash: 'new', yamlHash: 'new-file' },
  rules: { ...rules, ...ruled },
  reachable: true,
  unheard: false,
  held: { hash: 'old', yamlHash: 'old-file' },
  granted: true,
  runs: 'old-file',
  concerned: true,
  down: false,
  unfit: false,
  sentAt: null,
  restartedAt: null,
  allowedAt: 0,
  retryAt: null,
  failedYamlHash: null,
  failedAlone: false,
  refusedHash: null,
  ...more,
});
const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `n${i + 1}`);

test('the first change goes to every node immediately', () => {
  expect(planRollout([node('a'), node('b')], 0)).toEqual({
    push: ['a', 'b'],
    deliver: [],
    hold: new Map(),
    until: new Map(),
    wakeAt: null,
  });
});

test('a node that holds the desired config gets nothing', () => {
  const held = { hash: 'new', yamlHash: 'new-file' };
  expect(planRollout([node('a', { held })], 0)).toMatchObject({ push: [], deliver: [], hold: new Map() });
});

test('a second change within the interval is delivered, and its restart waits until the interval is over', () => {
  const nodes = [node('a', { restartedAt: 1_000 })];
  expect(planRollout(nodes, 30_000)).toEqual({
    push: [],
    deliver: ['a'],
    hold: new Map([['a', 'MinInterval']]),
    until: new Map([['a', 61_000]]),
    wakeAt: 61_000,
  });
  expect(planRollout(nodes, 61_000).push).toEqual(['a']);
});

test('a file on hold is not sent again, and gets its restart when its turn comes', () => {
  const held = { hash: 'new', yamlHash: 'new-file' };
  const nodes = [node('a', { restartedAt: 1_000, held, granted: false })];
  expect(planRollout(nodes, 30_000)).toMatchObject({ push: [], deliver: [], wakeAt: 61_000 });
  expect(planRollout(nodes, 61_000)).toMatchObject({ push: ['a'], deliver: [] });
});

test('a node that is about to restart anyway takes a newer file with the same restart', () => {
  const nodes = [node('a', { restartedAt: 1_000, sentAt: 1_000 }, { maxUnavailable: 1 })];
  expect(planRollout(nodes, 2_000)).toMatchObject({ push: ['a'], deliver: [] });
});

test('a change of rules with the same file never waits: it restarts nothing', () => {
  const nodes = [node('a', { restartedAt: 1_000, held: { hash: 'old', yamlHash: 'new-file' } })];
  expect(planRollout(nodes, 2_000).push).toEqual(['a']);
});

test('a node that has got no config yet, and runs the one that agents start with, does not wait for others', () => {
  const more = { maxUnavailable: 1 };
  const onItsWay = node('a', { sentAt: 0, held: { hash: 'new', yamlHash: 'new-file' } }, more);
  expect(planRollout([onItsWay, node('b', { held: null }, more)], 0).push).toEqual(['b']);
});

test.each<[string, number | string, number, number]>([
  ['a tenth of thirty nodes is three', '10%', 30, 3],
  ['a tenth of three nodes is rounded up to one', '10%', 3, 1],
  ['7 % of a hundred nodes are seven', '7%', 100, 7],
  ['a number is taken as it is', 2, 30, 2],
  ['a share of 0% still lets one go', '0%', 30, 1],
])('at most maxUnavailable at a time: %s', (_sentence, maxUnavailable, size, expected) => {
  const plan = planRollout(
    names(size).map((n) => node(n, {}, { maxUnavailable })),
    0,
  );
  expect(plan.push).toHaveLength(expected);
  expect(plan.deliver).toHaveLength(size - expected);
  expect(plan.hold).toEqual(new Map(plan.deliver.map((name) => [name, 'MaxUnavailable'])));
});

test('nodes that are restarting count as unavailable', () => {
  const more = { maxUnavailable: 2 };
  const nodes = [
    node('a', { sentAt: 0, held: { hash: 'new', yamlHash: 'new-file' } }, more),
    node('b', {}, more),
    node('c', {}, more),
  ];
  expect(planRollout(nodes, 0)).toMatchObject({ push: ['b'], hold: new Map([['c', 'MaxUnavailable']]) });
});

test('a node whose instrument is down counts as unavailable, whatever the reason, and its file does not wait', () => {
  const more = { maxUnavailable: 2 };
  const nodes = [node('a', { down: true, runs: null }, more), node('b', {}, more), node('c', {}, more)];
  expect(planRollout(nodes, 0)).toMatchObject({ push: ['a', 'b'], hold: new Map([['c', 'MaxUnavailable']]) });
});

test('a node whose instrument fails with any file takes no place, be it down or tried with a new file', () => {
  const more = { maxUnavailable: 1 };
  for (const unfit of [
    node('a', { down: true, runs: null, unfit: true }, more),
    node('a', { sentAt: 0, unfit: true }, more),
  ])
    expect(planRollout([unfit, node('b', {}, more)], 0)).toMatchObject({ push: ['a', 'b'], hold: new Map() });
});

test('a node that has not reported to a new leader yet counts as unavailable', () => {
  const more = { maxUnavailable: 2 };
  const unheard = node('a', { reachable: false, unheard: true, held: null, runs: null }, more);
  expect(planRollout([unheard, node('b', {}, more), node('c', {}, more)], 0)).toMatchObject({
    push: ['b'],
    hold: new Map([
      ['a', 'Unreachable'],
      ['c', 'MaxUnavailable'],
    ]),
  });
});

describe('canaries', () => {
  const canary = (more: Partial<RolloutNode> = {}): RolloutNode => node('z-canary', more, { canary: true });
  const other = node('a', {}, { canary: false });
  test('go first', () => {
    const plan = planRollout([other, canary()], 0);
    expect(plan).toMatchObject({ push: ['z-canary'], deliver: [], hold: new Map([['a', 'Canary']]) });
  });
  test('hold the others until they run the new file', () => {
    const held = { hash: 'new', yamlHash: 'new-file' };
    expect(planRollout([other, canary({ held, sentAt: 0 })], 0)).toMatchObject({ push: [], deliver: [] });
    expect(planRollout([other, canary({ held, runs: 'new-file' })], 0).push).toEqual(['a']);
  });
  test('keep the file itself from the others, even from one that has just restarted', () => {
    const recent = node('a', { restartedAt: 1_000 }, { canary: false });
    expect(planRollout([recent, canary()], 2_000)).toMatchObject({ deliver: [], hold: new Map([['a', 'Canary']]) });
  });
  test('that have not reported to a new leader yet hold the others', () => {
    const unheard = canary({ reachable: false, unheard: true, held: null, runs: null });
    expect(planRollout([other, unheard], 0)).toMatchObject({ push: [], deliver: [] });
  });
  test('that cannot be reached do not hold the others', () => {
    expect(planRollout([other, canary({ reachable: false })], 0).push).toEqual(['a']);
  });
});

describe('a file that failed on a node', () => {
  const failed = node('bad', { failedYamlHash: 'new-file' });
  test('is not sent there again, nor anywhere else in the group', () => {
    expect(planRollout([failed, node('b')], 0)).toMatchObject({
      push: [],
      deliver: [],
      hold: new Map([
        ['bad', 'Failed'],
        ['b', 'Paused'],
      ]),
    });
  });
  test('goes on to the others without pauseOnFailure', () => {
    const ruled = { pauseOnFailure: false };
    expect(planRollout([node('bad', { failedYamlHash: 'new-file' }, ruled), node('b', {}, ruled)], 0).push).toEqual([
      'b',
    ]);
  });
  test('goes on to the others where the instrument was unfit before it got the file', () => {
    const alone = node('bad', { failedYamlHash: 'new-file', failedAlone: true });
    expect(planRollout([alone, node('b')], 0)).toMatchObject({ push: ['b'], hold: new Map([['bad', 'Failed']]) });
  });
  test('holds no node once another file is desired', () => {
    const desired = { hash: 'newer', yamlHash: 'newer-file' };
    expect(planRollout([node('bad', { failedYamlHash: 'new-file', desired }), node('b', { desired })], 0).push).toEqual(
      ['b', 'bad'],
    );
  });
  test('a config that the agent refused is not sent again, but a corrected one with the same file is', () => {
    const held = { hash: 'old', yamlHash: 'new-file' };
    expect(planRollout([node('a', { held, refusedHash: 'new' })], 0).hold).toEqual(new Map([['a', 'Failed']]));
    expect(planRollout([node('a', { held, refusedHash: 'older' })], 0).push).toEqual(['a']);
  });
  test('is not given to a node that is down or restarting either', () => {
    const others = [node('b', { down: true, runs: null }), node('c', { sentAt: 0 })];
    expect(planRollout([failed, ...others], 0)).toMatchObject({ push: [], deliver: [] });
  });
  test('does not pause another group', () => {
    expect(planRollout([failed, node('b', {}, { group: 'q' })], 0).push).toEqual(['b']);
  });
});

test('a node that cannot be reached is left alone', () => {
  expect(planRollout([node('a', { reachable: false })], 0)).toMatchObject({
    push: [],
    deliver: [],
    hold: new Map([['a', 'Unreachable']]),
  });
});

describe('a node without a pod that the change concerns', () => {
  const idle = node('idle', { concerned: false });

  test('gets the file and goes on without a restart', () => {
    const plan = planRollout([idle, node('busy')], 0);
    expect(plan.push).toEqual(['busy']);
    expect(plan.deliver).toEqual(['idle']);
    expect(plan.hold).toEqual(new Map([['idle', 'Unconcerned']]));
  });

  test('is restarted once such a pod comes, in its turn', () => {
    const held = { hash: idle.desired.hash, yamlHash: idle.desired.yamlHash };
    const waits = { ...idle, held, granted: false };
    expect(planRollout([waits], 0)).toMatchObject({ push: [], deliver: [] });
    expect(planRollout([{ ...waits, concerned: true }], 0).push).toEqual(['idle']);
  });

  test('starts with the new file where its instrument starts anyway', () => {
    expect(planRollout([{ ...idle, down: true }], 0).push).toEqual(['idle']);
  });

  test('is restarted as a canary, because the others wait for it', () => {
    const rules = { ...idle.rules, canary: true };
    expect(planRollout([{ ...idle, rules }], 0).push).toEqual(['idle']);
  });

  test('is not restarted for a file that it runs already, not even as a canary', () => {
    const rules = { ...idle.rules, canary: true };
    const held = { hash: 'between', yamlHash: 'between-file' };
    const back = node('back', { rules, held, granted: false, runs: idle.desired.yamlHash });
    const other = node('other', { rules: { ...idle.rules, canary: false } });
    expect(planRollout([back, other], 0)).toMatchObject({
      push: ['other'],
      deliver: ['back'],
      hold: new Map([['back', 'Unconcerned']]),
    });
  });

  test('does not get a file that has failed elsewhere', () => {
    const failed = node('failed', { failedYamlHash: idle.desired.yamlHash });
    const plan = planRollout([failed, idle], 0);
    expect(plan).toMatchObject({ push: [], deliver: [] });
    expect(plan.hold.get('idle')).toBe('Paused');
  });
});

test('a restart beyond the budget of its namespace waits, while its file is delivered', () => {
  const waiting = node('a', { restartedAt: 1_000, allowedAt: 90_000 });
  expect(planRollout([waiting], 70_000)).toEqual({
    push: [],
    deliver: ['a'],
    hold: new Map([['a', 'RestartBudget']]),
    until: new Map([['a', 90_000]]),
    wakeAt: 90_000,
  });
  expect(planRollout([waiting], 90_000).push).toEqual(['a']);
});

test('a newer edit during a restart needs one more restart, so the budget delays it too', () => {
  const restarting = node('a', { sentAt: 1_000, allowedAt: 90_000 });
  expect(planRollout([restarting], 2_000)).toMatchObject({ push: [], hold: new Map([['a', 'RestartBudget']]) });
  expect(planRollout([{ ...restarting, allowedAt: 0 }], 2_000).push).toEqual(['a']);
});

test('of two waits the longer one is reported', () => {
  const waiting = node('a', { restartedAt: 50_000, allowedAt: 90_000 });
  expect(planRollout([waiting], 70_000)).toMatchObject({ hold: new Map([['a', 'MinInterval']]), wakeAt: 110_000 });
  expect(planRollout([{ ...waiting, restartedAt: 20_000 }], 70_000)).toMatchObject({
    hold: new Map([['a', 'RestartBudget']]),
    wakeAt: 90_000,
  });
});

test('an agent that could not write is sent nothing for a while, and the other nodes of its group go on', () => {
  const nodes = [node('full', { held: { hash: '', yamlHash: 'old-file' }, retryAt: 60_000 }), node('b')];
  expect(planRollout(nodes, 59_999)).toEqual({
    push: ['b'],
    deliver: [],
    hold: new Map([['full', 'Failed']]),
    until: new Map([['full', 60_000]]),
    wakeAt: 60_000,
  });
  expect(planRollout(nodes, 60_000)).toMatchObject({ push: ['b', 'full'], wakeAt: null });
});
