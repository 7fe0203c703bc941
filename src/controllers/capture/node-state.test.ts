import { compile } from '../../capture/compile/compile.ts';
import { planRollout, type Ack, type AgentStatus, type PodFacts } from '../../capture/index.ts';
import { aMonitor, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import type { InstrumentFault, InstrumentWait } from './failures/instrument-fault.ts';
import { knownOf, NodeState } from './node-state.ts';

const wall = Date.UTC(2026, 0, 1, 12);
const policies = [aPolicy('p', { rollout: { minInterval: '60s' } })];
const configOf = (port: number, pods: readonly PodFacts[] = []) =>
  compile(
    aWorld({
      policies,
      monitors: [aMonitor('shop/m', { selector: {}, ports: [{ port }] })],
      pods: [...aWorld().pods, ...pods],
    }),
  ).nodes.get('node-1')!;
const [old, next] = [configOf(1), configOf(2)];
/** The file of `old`, with rules for one more pod. */
const sameFile = configOf(1, [aPod('shop/late-1', 'node-1')]);
const fault = (at: string, reason: InstrumentFault['reason'] = 'MissingCapability'): InstrumentFault => ({
  reason,
  message: 'CAP_BPF',
  at,
});

function statusOf(ack: Partial<Ack> | null, instrument: Partial<AgentStatus['instrument']> = {}): AgentStatus {
  return {
    node: 'node-1',
    revision: 1,
    ack: ack && { node: 'node-1', hash: old.hash, phase: 'Running', ...ack },
    instrument: { up: true, restarts: 0, ...instrument },
    monitors: [],
    totals: { series: 0, samplesAppended: 0, rejected: 0 },
  };
}

/** A node that runs `old`. */
function aNode(status = statusOf({})): NodeState {
  const node = new NodeState('node-1');
  node.ready = node.hasAgent = true;
  node.namespaces = new Set(['shop']);
  node.aim(old);
  node.inPod({ uid: 'pod-1', fault: null }, 0);
  node.heard(status, { monotonic: 1_000_000, wall });
  return node;
}

/** A node that runs `old` and was sent `next`. */
function anEditedNode(): NodeState {
  const node = aNode();
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  node.sent(knownOf(next), { node: 'node-1', hash: next.hash, phase: 'Written' });
  return node;
}

test('a new leader takes the time of the last restart from the agent, whose clock may be behind', () => {
  const start = new Date(wall - 20_000).toISOString();
  expect(aNode(statusOf({}, { start, restarts: 2 })).rolloutNode(1_000_000)!.restartedAt).toBe(980_000);
  const behind = { ...statusOf({}, { start, restarts: 2 }), time: new Date(wall - 5_000).toISOString() };
  expect(aNode(behind).rolloutNode(1_000_000)!.restartedAt).toBe(985_000);
});

test('the first start of an instrument is not a restart', () => {
  const start = new Date(wall - 20_000).toISOString();
  expect(aNode(statusOf({}, { start, restarts: 0 })).rolloutNode(1_000_000)!.restartedAt).toBeNull();
});

test('if the instrument ends for a lasting reason, the new config fails immediately, and the old one returns', () => {
  const node = anEditedNode();
  expect(node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'MissingCapability', message: 'CAP_BPF', hash: next.hash });
});

test('a crash that may be accidental fails the config only at the deadline, with the reason from the pod', () => {
  const node = anEditedNode();
  expect(node.inPod({ uid: 'pod-1', fault: fault('t1', 'InstrumentCrashed') }, 0)).toBeNull();
  expect(node.failure).toBeNull();
  expect(node.tick(1_120_000)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'InstrumentCrashed' });
});

test('a fault of the instrument from before an edit does not make the new config fail', () => {
  const node = aNode();
  node.inPod({ uid: 'pod-1', fault: fault('t0') }, 0);
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  expect(node.inPod({ uid: 'pod-1', fault: fault('t0') }, 0)).toBeNull();
  expect(node.failure).toBeNull();
});

test('when the agent reports only that nothing runs, the pod gives the reason, whichever report comes first', () => {
  const node = anEditedNode();
  node.acknowledged({ node: 'node-1', hash: next.hash, phase: 'Failed', reason: 'InstrumentNotRunning', message: 'x' });
  expect(node.failure?.reason).toBe('InstrumentNotRunning');
  node.inPod({ uid: 'pod-1', fault: fault('t1', 'ConfigRefused') }, 0);
  expect(node.failure).toMatchObject({ reason: 'ConfigRefused', message: 'CAP_BPF' });
  const other = anEditedNode();
  other.inPod({ uid: 'pod-1', fault: fault('t1', 'InstrumentCrashed') }, 0);
  other.acknowledged({
    node: 'node-1',
    hash: next.hash,
    phase: 'Failed',
    reason: 'InstrumentNotRunning',
    message: 'x',
  });
  expect(other.failure).toMatchObject({ reason: 'InstrumentCrashed', message: 'CAP_BPF' });
});

test('a failed config is tried again in a new pod of the agent', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  node.inPod({ uid: 'pod-2', fault: null }, 0);
  expect(node.failure).toBeNull();
  expect(node.rolloutNode(1_000_000)!.failedYamlHash).toBeNull();
});

const silent: Ack = { node: 'node-1', hash: next.hash, phase: 'Failed', reason: 'InstrumentNotRunning', message: 'x' };
const wait: InstrumentWait = { reason: 'RestartBackOff', message: 'back-off 2m40s restarting failed container' };

/** A node whose agent has `next`, and waits for its turn to restart. The push that allows the restart was lost. */
function aNodeWithoutAnAnswer(): NodeState {
  const node = aNode();
  node.aim(next);
  node.sending(knownOf(next), 'hold', 1_000_000);
  node.sent(knownOf(next), { node: 'node-1', hash: next.hash, phase: 'Written' });
  node.sending(knownOf(next), 'now', 1_060_000);
  node.pushFailed(knownOf(next), new Error('the connection was cut'));
  return node;
}

test.each([
  ['did not arrive', {}, { granted: false, sentAt: null, restartedAt: null }],
  ['arrived', { restarting: true }, { granted: true, sentAt: 1_061_000, restartedAt: 1_060_000 }],
])('after an unanswered push, the status of the agent shows that the push %s', (_what, instrument, expected) => {
  const node = aNodeWithoutAnAnswer();
  expect(node.reachable).toBe(false);
  const ack = { hash: next.hash, phase: 'Written' } as const;
  node.heard(statusOf(ack, { runs: old.hash, ...instrument }), { monotonic: 1_061_000, wall });
  expect(node.rolloutNode(1_061_000)).toMatchObject({ reachable: true, ...expected });
});

test('after an unanswered push, a config that already runs is not sent again', () => {
  const node = aNodeWithoutAnAnswer();
  node.heard(statusOf({ hash: next.hash }, { runs: next.hash }), { monotonic: 1_061_000, wall });
  expect(node.rolloutNode(1_061_000)).toMatchObject({ granted: true, sentAt: null, restartedAt: 1_060_000 });
  expect(node.running).toBe(true);
});

test.each([
  ['an earlier status', statusOf({}, { runs: old.hash }), 'Written', { granted: false, sentAt: null }],
  ['a later status', statusOf({ hash: next.hash }, { runs: next.hash }), 'Running', { granted: true, sentAt: null }],
] as const)(
  'while a push is in flight, %s does not change the outcome of the push',
  (_what, status, phase, expected) => {
    const node = aNode();
    node.aim(next);
    const restart = phase === 'Running' ? 'now' : 'hold';
    node.sending(knownOf(next), restart, 1_000_000);
    node.heard(status, { monotonic: 1_000_010, wall });
    node.sent(knownOf(next), { node: 'node-1', hash: next.hash, phase: 'Written' });
    expect(node.ack?.phase).toBe(phase);
    expect(node.rolloutNode(1_000_020)).toMatchObject(expected);
  },
);

test('an unreachable agent has no deadline to wait for', () => {
  const node = anEditedNode();
  expect(node.deadline).toBe(1_120_000);
  node.lost(new Error('gone'));
  expect(node.tick(1_200_000)).toBeNull();
  expect(node.deadline).toBeNull();
});

test.each([
  ['the same pod', 'pod-1'],
  ['a new pod', 'pod-2'],
])('after an absence of its agent, in %s, a new file gets its whole time limit again', (_what, uid) => {
  const node = anEditedNode();
  node.lost(new Error('the node restarts'));
  node.inPod({ uid, fault: null }, 1_150_000);
  const written = statusOf({ hash: next.hash, phase: 'Written' }, { restarting: true });
  node.heard(written, { monotonic: 1_150_000, wall });
  expect([node.tick(1_150_010), node.failure, node.deadline]).toEqual([null, null, 1_270_000]);
  expect(node.tick(1_270_000)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'NotRunning' });
});

test('in a new pod of a reachable agent, a new file gets its whole time limit again', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: null }, 1_050_000);
  expect(node.deadline).toBe(1_120_000);
  node.inPod({ uid: 'pod-2', fault: null }, 1_100_000);
  expect(node.deadline).toBe(1_220_000);
});

test('an instrument in a new pod does not count as running what the one in the old pod ran', () => {
  const node = aNode(statusOf({}, { runs: old.hash }));
  expect(node.runningGenerations).toEqual(old.config.generations);
  node.lost(new Error('the pod ended'));
  node.inPod({ uid: 'pod-2', fault: null }, 1_010_000);
  // The new agent has nothing on its disk: it begins with its seed, which waits for the instrument.
  node.heard(statusOf({ hash: `sha256:${'0'.repeat(64)}`, phase: 'Written' }), { monotonic: 1_020_000, wall });
  node.learned(null);
  expect(node.runningGenerations).toBeNull();
  expect(node.lastGood?.hash).toBe(old.hash);
  expect(node.rolloutNode(1_020_000)).toMatchObject({ runs: null, concerned: true });
});

test('a push that ends with its connection is unanswered, and not a failure of the config', () => {
  const node = aNode();
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  node.pushLost();
  expect(node.tick(1_200_000)).toBeNull();
  expect(node.failure).toBeNull();
});

test('an instrument that ended well and waits for the back-off of the kubelet has not failed', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: null, wait }, 1_010_000);
  expect(node.acknowledged(silent)).toBeNull();
  expect([node.tick(1_500_000), node.deadline]).toEqual([null, null]);
  expect(node.failure).toBeNull();
  expect(node.wait).toBe(wait);
  // The back-off is over: the instrument has the whole deadline to run the file. The agent still reports only silence.
  node.inPod({ uid: 'pod-1', fault: null, wait: null }, 1_500_000);
  expect(node.acknowledged(silent)).toBeNull();
  expect([node.tick(1_619_000), node.deadline]).toEqual([null, 1_620_000]);
  node.acknowledged({ ...silent, phase: 'Running' });
  expect(node.failure).toBeNull();
});

test('a config that does not run before the deadline after a back-off has failed', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: null, wait }, 1_010_000);
  node.inPod({ uid: 'pod-1', fault: null, wait: null }, 1_500_000);
  expect(node.tick(1_620_000)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'NotRunning' });
});

test('a back-off that begins after a failure does not undo the failure', () => {
  const node = anEditedNode();
  expect(node.acknowledged(silent)?.hash).toBe(old.hash);
  node.inPod({ uid: 'pod-1', fault: null, wait }, 1_010_000);
  expect(node.failure).toMatchObject({ reason: 'InstrumentNotRunning' });
});

const down: Ack = { ...silent, hash: old.hash };
const pushes = (node: NodeState, now = 2_000_000): string[] => planRollout([node.rolloutNode(now)!], now).push;

test('an instrument that runs again after an outage has not failed, and its node gets the rules of the time since', () => {
  const node = aNode();
  expect(node.acknowledged(down)).toBeNull();
  expect(node.failure).toMatchObject({ reason: 'InstrumentNotRunning', yamlHash: old.yamlHash });
  node.aim(sameFile);
  expect(pushes(node)).toEqual([]);
  node.heard(statusOf({ hash: old.hash }), { monotonic: 1_900_000, wall });
  expect(node.failure).toBeNull();
  expect(pushes(node)).toEqual(['node-1']);
});

test('the next leader, too, learns that an instrument runs the file with which it had failed', () => {
  const before = { node: 'node-1', pod: 'pod-1', reason: 'x', message: 'x', yamlHash: old.yamlHash, hash: old.hash };
  const node = new NodeState('node-1', before);
  node.hasAgent = true;
  node.aim(sameFile);
  node.heard(statusOf({ hash: old.hash }, { runs: old.hash }), { monotonic: 1_000_000, wall });
  expect([node.needs.current, node.failure?.reason]).toEqual([true, 'x']);
  node.learned(old.config);
  expect(node.failure).toBeNull();
  expect(pushes(node)).toEqual(['node-1']);
});

test('a file that failed stays failed while the config before it runs again', () => {
  const node = anEditedNode();
  const back = node.acknowledged(silent)!;
  node.sending(back, 'now', 1_100_000);
  node.sent(back, { node: 'node-1', hash: back.hash, phase: 'Written' });
  node.heard(statusOf({ hash: old.hash }, { runs: old.hash }), { monotonic: 1_110_000, wall });
  expect([node.running, node.failure?.yamlHash]).toEqual([true, next.yamlHash]);
});

const full: Ack = { ...down, hash: sameFile.hash, reason: 'WriteFailed', message: 'ENOSPC' };

/** A node that runs `old`, and whose agent could not write this config. */
function aFullNode(config = sameFile): NodeState {
  const node = aNode();
  node.aim(config);
  node.sending(knownOf(config), 'now', 1_000_000);
  expect(node.sent(knownOf(config), { ...full, hash: config.hash })).toBeNull();
  return node;
}

test('rules that an agent could not write are sent again after a minute; their file has not failed', () => {
  const node = aFullNode();
  expect([node.state, node.trouble, node.failure]).toEqual([
    'failed',
    { reason: 'WriteFailed', message: 'ENOSPC' },
    null,
  ]);
  for (const now of [1_000_000, 1_059_999]) {
    node.heard(statusOf(full, { runs: old.hash }), { monotonic: now, wall });
    expect(pushes(node, now)).toEqual([]);
    expect(node.rolloutNode(now)).toMatchObject({ failedYamlHash: null, refusedHash: null, retryAt: 1_060_000 });
  }
  expect(pushes(node, 1_060_000)).toEqual(['node-1']);
  node.sending(knownOf(sameFile), 'now', 1_060_000);
  expect(pushes(node, 1_119_999)).toEqual([]);
  node.sent(knownOf(sameFile), { node: 'node-1', hash: sameFile.hash, phase: 'Running' });
  expect([node.state, node.trouble, pushes(node)]).toEqual(['running', null, []]);
});

test('a file that an agent could not write began no restart, and is sent again as a change of the file', () => {
  const node = aFullNode(next);
  expect(node.rolloutNode(1_060_000)).toMatchObject({
    held: { yamlHash: old.yamlHash },
    ...{ granted: true, sentAt: null, restartedAt: null },
  });
  expect(node.tick(2_000_000)).toBeNull();
  expect(pushes(node, 1_060_000)).toEqual(['node-1']);
});

test('after an unanswered push that the agent could not write, nothing restarts either', () => {
  const node = aNode();
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  node.pushFailed(knownOf(next), new Error('the connection was cut'));
  node.heard(statusOf({ ...full, hash: next.hash }, { runs: old.hash }), { monotonic: 1_001_000, wall });
  expect(node.rolloutNode(1_001_000)).toMatchObject({ reachable: true, granted: true, restartedAt: null });
  expect([pushes(node, 1_001_000), pushes(node, 1_060_000)]).toEqual([[], ['node-1']]);
});

test('whatever an agent that could not write is to run next, it is sent: it may hold a part of the last config', () => {
  const node = aFullNode();
  node.aim(old);
  expect([pushes(node, 1_059_999), pushes(node, 1_060_000)]).toEqual([[], ['node-1']]);
});

test('an agent that starts again after it could not write gets the config at once', () => {
  const node = aFullNode();
  node.heard(statusOf({ hash: old.hash }, { runs: old.hash }), { monotonic: 1_010_000, wall });
  expect(node.trouble).toBeNull();
  expect(pushes(node, 1_010_000)).toEqual(['node-1']);
});

test('the config to roll back to that an agent could not write is sent again after a minute', () => {
  const node = anEditedNode();
  const back = node.acknowledged(silent)!;
  node.sending(back, 'now', 1_100_000);
  node.sent(back, { ...full, hash: back.hash });
  expect(node.failure).toMatchObject({ reason: 'InstrumentNotRunning', yamlHash: next.yamlHash });
  expect([node.tick(1_159_999), pushes(node, 1_160_000)]).toEqual([null, []]);
  expect(node.tick(1_160_000)).toBe(back);
  node.sending(back, 'now', 1_160_000);
  expect(node.tick(1_161_000)).toBeNull();
});

test.each([
  ['its rules from before the write', old],
  ['a part of the config', next],
])('the next leader sends the config again to an agent that could not write and holds %s', (_what, held) => {
  const node = new NodeState('node-1');
  node.hasAgent = true;
  node.namespaces = new Set(['shop']);
  node.aim(next);
  node.heard(statusOf({ ...full, hash: next.hash }, { runs: old.hash }), { monotonic: 1_000_000, wall });
  expect(node.needs).toEqual({ current: true, running: true });
  node.learned(held.config);
  node.learnedRunning(old.config);
  expect(node.needs).toEqual({ current: false, running: false });
  // Whether an earlier leader allowed the restart is unknown, so it is paced as every restart.
  expect(node.rolloutNode(1_000_000)).toMatchObject({ reachable: true, granted: false, retryAt: null });
  expect(pushes(node)).toEqual(['node-1']);
});
