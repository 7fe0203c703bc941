import { compile } from '../../capture/compile/compile.ts';
import type { Ack, AgentStatus } from '../../capture/index.ts';
import { aMonitor, aPolicy, aWorld } from '../../testing/capture/world.ts';
import type { InstrumentFault } from './instrument-fault.ts';
import { knownOf, NodeState } from './node-state.ts';

const wall = Date.UTC(2026, 0, 1, 12);
const policies = [aPolicy('p', { rollout: { minInterval: '60s' } })];
const configOf = (port: number) =>
  compile(aWorld({ policies, monitors: [aMonitor('shop/m', { selector: {}, ports: [{ port }] })] })).nodes.get(
    'node-1',
  )!;
const [old, next] = [configOf(1), configOf(2)];
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
  node.aim(old);
  node.inPod({ uid: 'pod-1', fault: null }, 0);
  node.heard(status, { monotonic: 1_000_000, wall });
  return node;
}

/** A node that runs `old` and was told to run `next`. */
function anEditedNode(): NodeState {
  const node = aNode();
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  node.sent(knownOf(next), { node: 'node-1', hash: next.hash, phase: 'Written' });
  return node;
}

test('a leader that has just begun keeps its distance from a restart that it did not ask for', () => {
  const start = new Date(wall - 20_000).toISOString();
  expect(aNode(statusOf({}, { start, restarts: 2 })).rolloutNode(1_000_000)!.restartedAt).toBe(980_000);
});

test('the first start of an instrument is no restart', () => {
  const start = new Date(wall - 20_000).toISOString();
  expect(aNode(statusOf({}, { start, restarts: 0 })).rolloutNode(1_000_000)!.restartedAt).toBeNull();
});

test('an instrument that ends for a lasting reason fails the new config at once, and the old one comes back', () => {
  const node = anEditedNode();
  expect(node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'MissingCapability', message: 'CAP_BPF', hash: next.hash });
});

test('a crash that may have been an accident waits for the deadline, and the pod then says why', () => {
  const node = anEditedNode();
  expect(node.inPod({ uid: 'pod-1', fault: fault('t1', 'InstrumentCrashed') }, 0)).toBeNull();
  expect(node.failure).toBeNull();
  expect(node.tick(1_120_000)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'InstrumentCrashed' });
});

test('an end from before the edit says nothing about it', () => {
  const node = aNode();
  node.inPod({ uid: 'pod-1', fault: fault('t0') }, 0);
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  expect(node.inPod({ uid: 'pod-1', fault: fault('t0') }, 0)).toBeNull();
  expect(node.failure).toBeNull();
});

test('what the agent only sees as silence gets its reason from the pod, whichever comes first', () => {
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

test('in a new pod what failed is tried again', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  node.inPod({ uid: 'pod-2', fault: null }, 0);
  expect(node.failure).toBeNull();
  expect(node.rolloutNode(1_000_000)!.failedYamlHash).toBeNull();
});

const silent: Ack = { node: 'node-1', hash: next.hash, phase: 'Failed', reason: 'InstrumentNotRunning', message: 'x' };
const backOff = 'back-off 2m40s restarting failed container=instrument';

/** A node that holds `next` until its turn comes, and whose push that allows the restart was lost. */
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
  ['did not take', {}, { granted: false, sentAt: null, restartedAt: null }],
  ['took', { restarting: true }, { granted: true, sentAt: 1_061_000, restartedAt: 1_060_000 }],
])('after a push without an answer the agent says what it %s', (_what, instrument, expected) => {
  const node = aNodeWithoutAnAnswer();
  expect(node.reachable).toBe(false);
  const ack = { hash: next.hash, phase: 'Written' } as const;
  node.heard(statusOf(ack, { runs: old.hash, ...instrument }), { monotonic: 1_061_000, wall });
  expect(node.rolloutNode(1_061_000)).toMatchObject({ reachable: true, ...expected });
});

test('after a push without an answer a config that runs already is not sent again', () => {
  const node = aNodeWithoutAnAnswer();
  node.heard(statusOf({ hash: next.hash }, { runs: next.hash }), { monotonic: 1_061_000, wall });
  expect(node.rolloutNode(1_061_000)).toMatchObject({ granted: true, sentAt: null, restartedAt: 1_060_000 });
  expect(node.running).toBe(true);
});

test.each([
  ['a status from before the push', statusOf({}, { runs: old.hash }), 'Written', { granted: false, sentAt: null }],
  ['one from after it', statusOf({ hash: next.hash }, { runs: next.hash }), 'Running', { granted: true, sentAt: null }],
] as const)(
  'while a push is in flight, %s changes nothing of what the answer says',
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

test('an agent that cannot be reached is not waited for in a loop', () => {
  const node = anEditedNode();
  expect(node.deadline).toBe(1_120_000);
  node.lost(new Error('gone'));
  expect(node.tick(1_200_000)).toBeNull();
  expect(node.deadline).toBeNull();
});

test('a push that ends with its connection is one without an answer, and no failure of the config', () => {
  const node = aNode();
  node.aim(next);
  node.sending(knownOf(next), 'now', 1_000_000);
  node.pushLost();
  expect(node.tick(1_200_000)).toBeNull();
  expect(node.failure).toBeNull();
});

test('an instrument that the kubelet starts again only after a wait, though it ended well, has not failed', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: null, backOff }, 1_010_000);
  expect(node.acknowledged(silent)).toBeNull();
  expect([node.tick(1_500_000), node.deadline]).toEqual([null, null]);
  expect(node.failure).toBeNull();
  expect(node.backOff).toBe(backOff);
  // The wait is over: it has the whole time to run the file, and the agent still sees only that nothing has run.
  node.inPod({ uid: 'pod-1', fault: null, backOff: null }, 1_500_000);
  expect(node.acknowledged(silent)).toBeNull();
  expect([node.tick(1_619_000), node.deadline]).toEqual([null, 1_620_000]);
  node.acknowledged({ ...silent, phase: 'Running' });
  expect(node.failure).toBeNull();
});

test('what does not run in its time after such a wait has failed', () => {
  const node = anEditedNode();
  node.inPod({ uid: 'pod-1', fault: null, backOff }, 1_010_000);
  node.inPod({ uid: 'pod-1', fault: null, backOff: null }, 1_500_000);
  expect(node.tick(1_620_000)?.hash).toBe(old.hash);
  expect(node.failure).toMatchObject({ reason: 'NotRunning' });
});

test('a wait that came after the failure was found takes nothing back', () => {
  const node = anEditedNode();
  expect(node.acknowledged(silent)?.hash).toBe(old.hash);
  node.inPod({ uid: 'pod-1', fault: null, backOff }, 1_010_000);
  expect(node.failure).toMatchObject({ reason: 'InstrumentNotRunning' });
});
