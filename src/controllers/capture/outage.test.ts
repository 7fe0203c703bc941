import { compile } from '../../capture/compile/compile.ts';
import { planRollout, type Ack, type AgentStatus, type NodeConfig } from '../../capture/index.ts';
import { aMonitor, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import type { InstrumentFault, InstrumentWait } from './failures/instrument-fault.ts';
import { knownOf, NodeState, type KnownConfig } from './node-state.ts';

const policies = [aPolicy('p', { rollout: { minInterval: '60s', maxUnavailable: 1 } })];
/** The configs of two nodes, each with pods that the monitor selects. */
const configsOf = (port: number) =>
  compile(
    aWorld({
      policies,
      monitors: [aMonitor('shop/m', { selector: {}, ports: [{ port }] })],
      nodes: [
        { name: 'node-1', labels: {} },
        { name: 'node-2', labels: {} },
      ],
      pods: [aPod('shop/web-1', 'node-1'), aPod('shop/web-2', 'node-2')],
    }),
  ).nodes;
const [old, next, later] = [configsOf(1), configsOf(2), configsOf(3)];
type Configs = typeof old;
const of = (configs: Configs, node: string): NodeConfig => configs.get(node)!;
const started = 1_000_000;
const fault = (at: string, reason: InstrumentFault['reason'] = 'KernelUnsupported'): InstrumentFault => ({
  reason,
  message: 'no kprobes',
  at,
});

function heard(node: NodeState, ack: Partial<Ack>, instrument: Partial<AgentStatus['instrument']> = {}) {
  const status: AgentStatus = {
    node: node.name,
    revision: 1,
    ack: { node: node.name, hash: of(old, node.name).hash, phase: 'Running', ...ack },
    instrument: { up: true, restarts: 0, ...instrument },
    monitors: [],
    totals: { series: 0, samplesAppended: 0, rejected: 0 },
  };
  return node.heard(status, { monotonic: started, wall: Date.UTC(2026, 0, 1) });
}

/** A node with an agent that holds `old`; its instrument has not been seen yet. */
function aNode(name = 'node-1'): NodeState {
  const node = new NodeState(name);
  node.ready = node.hasAgent = true;
  node.namespaces = new Set(['shop']);
  node.aim(of(old, name));
  node.inPod({ uid: 'pod-1', fault: null }, 0);
  return node;
}

/** A node whose instrument has run no file yet and ends at each start. */
function anUnfitNode(): NodeState {
  const node = aNode();
  heard(node, { phase: 'Written' }, { up: false });
  node.inPod({ uid: 'pod-1', fault: fault('t0') }, 0);
  return node;
}

/** A node whose instrument ran `old` for a time. */
function aNodeThatRan(): NodeState {
  const node = aNode();
  heard(node, {});
  return node;
}

/** A node whose instrument ran `old` and now ends at its memory limit, whatever the file. */
function aNodeOutOfMemory(): NodeState {
  const node = aNodeThatRan();
  heard(node, { phase: 'Written' }, { up: false });
  node.inPod({ uid: 'pod-1', fault: fault('t0', 'OutOfMemory') }, 0);
  return node;
}

function push(node: NodeState, config: KnownConfig): void {
  node.sending(config, 'now', started);
  node.sent(config, { node: node.name, hash: config.hash, phase: 'Written' });
}

const crashedAgain = { uid: 'pod-1', fault: fault('t1b') };
/** Pushes a config; while it is on its way, `happens`. */
function pushDuring(happens: (node: NodeState) => void) {
  return (node: NodeState, config: KnownConfig): void => {
    node.sending(config, 'now', started);
    happens(node);
    node.sent(config, { node: node.name, hash: config.hash, phase: 'Written' });
  };
}

function edit(node: NodeState, configs: Configs): void {
  node.aim(of(configs, node.name));
  push(node, knownOf(of(configs, node.name)));
}

/** Its agent waits in vain for the instrument to run this config. Returns the config to roll back to. */
const silent = (node: NodeState, hash: string): KnownConfig | null =>
  heard(node, { hash, phase: 'Failed', reason: 'InstrumentNotRunning', message: 'x' }, { up: false });

/** What a node of the same group gets that is well and runs `old`, once these configs are desired. */
function planBeside(node: NodeState, configs: Configs): { sent: boolean; hold: string | undefined } {
  const beside = aNode('node-2');
  heard(beside, {});
  beside.aim(of(configs, 'node-2'));
  const plan = planRollout(
    [node, beside].map((n) => n.rolloutNode(started)!),
    started,
  );
  return { sent: plan.push.includes('node-2'), hold: plan.hold.get('node-2') };
}
const goesOn = { sent: true, hold: undefined };
const paused = { sent: false, hold: 'Paused' };

test('a file that fails on an instrument that ran no file before does not pause the group', () => {
  const node = anUnfitNode();
  edit(node, next);
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  expect([node.failure?.reason, node.failure?.yamlHash]).toEqual(['KernelUnsupported', of(next, 'node-1').yamlHash]);
  expect(planBeside(node, next)).toEqual(goesOn);
});

test('while such an instrument is tried with a new file, it takes no place of the nodes that may restart', () => {
  const node = anUnfitNode();
  node.aim(of(next, 'node-1'));
  expect(planBeside(node, next)).toEqual({ sent: false, hold: 'MaxUnavailable' });
  push(node, knownOf(of(next, 'node-1')));
  expect(planBeside(node, next)).toEqual(goesOn);
});

test('the first file of a node pauses the group if the instrument had not failed before', () => {
  const node = aNode();
  heard(node, { phase: 'Written' }, { up: false });
  edit(node, next);
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  expect(planBeside(node, next)).toEqual(paused);
  edit(node, later);
  silent(node, of(later, 'node-1').hash);
  expect(planBeside(node, later)).toEqual(goesOn);
});

test('an instrument that fails with the file that it ran does not make the next file fail for the group', () => {
  const node = aNodeThatRan();
  silent(node, of(old, 'node-1').hash);
  edit(node, next);
  const back = silent(node, of(next, 'node-1').hash)!;
  expect(back.hash).toBe(of(old, 'node-1').hash);
  expect([node.state, planBeside(node, next)]).toEqual(['failed', goesOn]);
  push(node, back);
  expect(planBeside(node, next)).toEqual(goesOn);
});

test('an instrument in a crash loop that has no lasting reason does not pause the group either', () => {
  const node = aNodeOutOfMemory();
  edit(node, next);
  node.inPod({ uid: 'pod-1', fault: fault('t1', 'OutOfMemory') }, 0);
  expect(node.failure).toBeNull();
  expect(planBeside(node, next)).toEqual(goesOn);
  node.tick(started + 120_000);
  expect([node.failure?.reason, planBeside(node, next)]).toEqual(['OutOfMemory', goesOn]);
});

const refusal = { uid: 'pod-1', fault: fault('t1', 'ConfigRefused') };

test('an instrument that fails for another reason and refuses a file pauses the group', () => {
  const node = aNodeOutOfMemory();
  edit(node, next);
  node.inPod(refusal, 0);
  expect([node.failure?.reason, planBeside(node, next)]).toEqual(['ConfigRefused', paused]);
  edit(node, later);
  node.inPod({ uid: 'pod-1', fault: fault('t2', 'OutOfMemory') }, 0);
  node.tick(started + 120_000);
  expect([node.failure?.reason, planBeside(node, later)]).toEqual(['OutOfMemory', goesOn]);
});

test('its refusal pauses the group also if the agent reports its silence first', () => {
  const node = aNodeThatRan();
  silent(node, of(old, 'node-1').hash);
  edit(node, next);
  silent(node, of(next, 'node-1').hash);
  expect([node.failure?.reason, planBeside(node, next)]).toEqual(['InstrumentNotRunning', goesOn]);
  node.inPod(refusal, 0);
  expect([node.failure?.reason, planBeside(node, next)]).toEqual(['ConfigRefused', paused]);
});

test('an instrument that refuses any file does not pause the group', () => {
  const node = aNodeThatRan();
  heard(node, { phase: 'Written' }, { up: false });
  node.inPod({ uid: 'pod-1', fault: fault('t0', 'ConfigRefused') }, 0);
  edit(node, next);
  node.inPod(refusal, 0);
  expect([node.failure?.reason, planBeside(node, next)]).toEqual(['ConfigRefused', goesOn]);
  const nextLeaders = new NodeState('node-1', node.remembered!);
  nextLeaders.hasAgent = true;
  silent(nextLeaders, of(next, 'node-1').hash);
  edit(nextLeaders, later);
  nextLeaders.inPod({ uid: 'pod-1', fault: fault('t2', 'ConfigRefused') }, 0);
  expect([nextLeaders.failure?.reason, planBeside(nextLeaders, later)]).toEqual(['ConfigRefused', goesOn]);
});

test('two files that are refused where none has run yet pause the group twice', () => {
  const node = aNode();
  heard(node, { phase: 'Written' }, { up: false });
  edit(node, next);
  node.inPod(refusal, 0);
  expect(planBeside(node, next)).toEqual(paused);
  heard(node, { hash: of(next, 'node-1').hash, phase: 'Written' }, { up: false });
  edit(node, later);
  node.inPod({ uid: 'pod-1', fault: fault('t2', 'ConfigRefused') }, 0);
  expect(planBeside(node, later)).toEqual(paused);
});

test('two bad edits, one directly after the other, pause the group twice', () => {
  const node = aNodeThatRan();
  edit(node, next);
  heard(node, { hash: of(next, 'node-1').hash, phase: 'Written' }, { up: false });
  push(node, node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0)!);
  expect(planBeside(node, next)).toEqual(paused);
  heard(node, { phase: 'Written' }, { up: false });
  edit(node, later);
  node.inPod({ uid: 'pod-1', fault: fault('t2') }, 0);
  expect(planBeside(node, later)).toEqual(paused);
});

test.each<[string, (node: NodeState, back: KnownConfig) => void]>([
  [
    'its pod reports, after the rollback was pushed',
    (node, back) => {
      push(node, back);
      node.inPod(crashedAgain, 0);
    },
  ],
  ['its pod reports, while the rollback is on its way', pushDuring((node) => node.inPod(crashedAgain, 0))],
  ['its agent reports, while the rollback is on its way', pushDuring((node) => silent(node, of(next, 'node-1').hash))],
])('a late failure of a file that %s, is not one of the file that returns', (_when, roll) => {
  const node = aNodeThatRan();
  edit(node, next);
  heard(node, { hash: of(next, 'node-1').hash, phase: 'Written' }, { up: false });
  roll(node, node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0)!);
  expect([node.deadline, planBeside(node, next)]).toEqual([started + 120_000, paused]);
  heard(node, { phase: 'Written' }, { up: false });
  edit(node, later);
  node.inPod({ uid: 'pod-1', fault: fault('t2') }, 0);
  expect(planBeside(node, later)).toEqual(paused);
});

test.each<[string, (node: NodeState, back: KnownConfig) => void]>([
  ['by its agent', (node, back) => silent(node, back.hash)],
  [
    'by the time limit',
    (node) => {
      node.inPod({ uid: 'pod-1', fault: fault('t2') }, 0);
      heard(node, { phase: 'Written' }, { up: false });
      node.tick(started + 120_000);
    },
  ],
])('an instrument that did not run the file before it either, %s, is known to fail with any file', (_by, fails) => {
  const node = aNodeThatRan();
  edit(node, next);
  const back = silent(node, of(next, 'node-1').hash)!;
  push(node, back);
  fails(node, back);
  expect(planBeside(node, next)).toEqual(paused);
  edit(node, later);
  silent(node, of(later, 'node-1').hash);
  expect(planBeside(node, later)).toEqual(goesOn);
});

test('an instrument that failed in its old pod fails alone in the new one', () => {
  const node = anUnfitNode();
  node.inPod({ uid: 'pod-2', fault: null }, 0);
  edit(node, next);
  node.inPod({ uid: 'pod-2', fault: fault('t1') }, 0);
  expect([node.failure?.reason, planBeside(node, next)]).toEqual(['KernelUnsupported', goesOn]);
});

test('an instrument that runs again is believed again', () => {
  const node = anUnfitNode();
  edit(node, next);
  heard(node, { hash: of(next, 'node-1').hash });
  edit(node, later);
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  expect(planBeside(node, later)).toEqual(paused);
});

test('a crash before the newest run says nothing about a later outage', () => {
  const node = aNodeThatRan();
  node.inPod({ uid: 'pod-1', fault: fault('t0', 'InstrumentCrashed') }, 0);
  heard(node, {});
  heard(node, { phase: 'Written' }, { up: false });
  edit(node, next);
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  expect(planBeside(node, next)).toEqual(paused);
});

test('an instrument that still answers, although it crashed, is not unfit', () => {
  const node = aNodeThatRan();
  node.inPod({ uid: 'pod-1', fault: fault('t0', 'InstrumentCrashed') }, 0);
  edit(node, next);
  node.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  expect(planBeside(node, next)).toEqual(paused);
});

test.each([
  ['the same pod', 'pod-1'],
  ['a new pod', 'pod-2'],
])('the next leader knows that an instrument fails with any file, in %s too', (_what, uid) => {
  const before = anUnfitNode();
  edit(before, next);
  before.inPod({ uid: 'pod-1', fault: fault('t1') }, 0);
  const node = new NodeState('node-1', before.remembered!);
  node.hasAgent = true;
  node.aim(of(next, 'node-1'));
  node.inPod({ uid, fault: null }, 0);
  silent(node, of(next, 'node-1').hash);
  expect([node.failure?.yamlHash, planBeside(node, next)]).toEqual([of(next, 'node-1').yamlHash, goesOn]);
});

const wait = (reason: InstrumentWait['reason']): InstrumentWait => ({ reason, message: 'words' });

test('a file that is sent while the image of the instrument cannot be pulled has not failed, and others go on', () => {
  const node = aNodeThatRan();
  heard(node, { phase: 'Written' }, { up: false });
  node.inPod({ uid: 'pod-1', fault: null, wait: wait('ImagePullFailed') }, started);
  edit(node, next);
  const { hash } = of(next, 'node-1');
  expect([silent(node, hash), node.tick(started + 500_000), node.failure]).toEqual([null, null, null]);
  expect([node.wait, planBeside(node, next)]).toEqual([wait('ImagePullFailed'), goesOn]);
  // The instrument starts: it has the whole deadline to run the file. The agent still reports only silence.
  node.inPod({ uid: 'pod-1', fault: null }, started + 500_000);
  expect([silent(node, hash), node.failure, node.deadline]).toEqual([null, null, started + 620_000]);
  heard(node, { hash });
  expect([node.state, node.failure]).toEqual(['running', null]);
});

test('a node whose instrument waits for the back-off of the kubelet counts as unavailable', () => {
  const node = aNodeThatRan();
  heard(node, { phase: 'Written' }, { up: false });
  node.inPod({ uid: 'pod-1', fault: null, wait: wait('RestartBackOff') }, started);
  expect(planBeside(node, next)).toEqual({ sent: false, hold: 'MaxUnavailable' });
});

test.each([
  ['before it starts', ['agent', 'kubelet'], 130_000, 'NotRunning'],
  ['only after its start', ['kubelet', 'agent'], 100_000, 'InstrumentNotRunning'],
])(
  'after a wait, an instrument that runs nothing has failed, also if no file was sent; its agent speaks %s',
  (_when, order, ms, reason) => {
    const node = aNodeThatRan();
    node.inPod({ uid: 'pod-1', fault: null, wait: wait('RestartBackOff') }, started);
    for (const who of order) {
      if (who === 'agent') heard(node, { phase: 'Written' }, { up: false });
      else node.inPod({ uid: 'pod-1', fault: null }, started + 10_000);
    }
    silent(node, of(old, 'node-1').hash);
    node.tick(started + ms);
    expect(node.failure).toMatchObject({ reason, yamlHash: of(old, 'node-1').yamlHash });
  },
);
