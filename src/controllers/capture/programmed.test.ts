import { captureHash, zeroConfig, type AgentStatus, type CaptureConfig } from '../../capture/index.ts';
import { aMonitor, aPolicy } from '../../testing/capture/world.ts';
import { NodeState } from './node-state.ts';
import { programmed } from './programmed.ts';

const noon = Date.UTC(2026, 0, 1, 12);

/** A ready node that waits for its next restart. Its newest restart paused capture for `gapMs`. */
function waiting(name: string, waitsUntil: number, gapMs?: number): NodeState {
  const node = new NodeState(name);
  node.ready = node.reachable = true;
  node.hold = 'MinInterval';
  node.waitsUntil = waitsUntil;
  const instrument = { up: true, restarts: 1, ...(gapMs === undefined ? {} : { gapMs }) };
  node.status = { instrument } as AgentStatus;
  return node;
}
const web = aMonitor('shop/web', {}, { generation: 2 });
const message = (...nodes: NodeState[]): string => programmed(web, nodes).condition.message;

test('the message gives the time of the earliest planned restart, and of the latest one if that differs', () => {
  expect(message(waiting('a', noon))).toMatch(/, the next restart is at 2026-01-01T12:00:00Z$/);
  expect(message(waiting('a', noon + 60_000), waiting('b', noon), waiting('c', noon + 30_000))).toMatch(
    /, the next restart is at 2026-01-01T12:00:00Z, the last at 2026-01-01T12:01:00Z$/,
  );
});

test('the message gives the longest pause among the newest restarts of several nodes', () => {
  expect(message(waiting('a', noon, 2_000))).toContain('; the newest restart paused capture for 2.0 s;');
  expect(message(waiting('a', noon, 2_000), waiting('b', noon, 3_500))).toContain(
    '; the newest restarts of 2 nodes paused capture for 3.5 s at the most;',
  );
});

test.each(['RestartBackOff', 'ImagePullFailed'] as const)('a node whose instrument waits is named: %s', (reason) => {
  const node = new NodeState('a');
  node.ready = node.reachable = true;
  node.inPod({ uid: 'pod-1', fault: null, wait: { reason, message: 'words' } }, 0);
  expect(programmed(web, [node]).condition).toMatchObject({ reason, message: '0/1 nodes run generation 2; a: words' });
});

test('failed nodes are named before unreachable ones, and the message says how many it does not name', () => {
  const silent = Array.from({ length: 17 }, (_, i) => {
    const node = new NodeState(`a${String(i).padStart(2, '0')}`);
    node.ready = true;
    node.lost(new Error('no route'));
    return node;
  });
  const failed = new NodeState('z');
  failed.ready = failed.reachable = true;
  failed.failure = { reason: 'OutOfMemory', message: 'words', hash: 'h', yamlHash: null, alone: false };
  const { condition, failedNodes, unnamed } = programmed(web, [...silent, failed]);
  expect(failedNodes.map(({ name }) => name).slice(0, 2)).toEqual(['z', 'a00']);
  expect([failedNodes.length, unnamed]).toEqual([16, 2]);
  expect(condition.message).toMatch(/; z: OutOfMemory words; a00: .*; a01: .*; and 15 more$/);
});

/** A ready node that runs a config with these generations. */
function running(generations: CaptureConfig['generations']): NodeState {
  const node = new NodeState('node-1');
  node.ready = true;
  const config = { ...zeroConfig({ node: 'node-1', ports: '80', instrumentVersion: 'v0.10' }), generations };
  const ack = { node: 'node-1', hash: captureHash(config), phase: 'Running' } as const;
  node.heard({ ack, instrument: { up: true }, monitors: [] as AgentStatus['monitors'] } as AgentStatus, {
    monotonic: 0,
    wall: noon,
  });
  node.learned(config);
  return node;
}

test.each([aMonitor('shop/web', {}, { uid: 'second-web' }), aPolicy('default', {}, { uid: 'second-default' })])(
  'a node that runs a deleted $kind does not run the one of the same name that was created since',
  (object) => {
    const name = object.kind === 'TrafficMonitor' ? 'TrafficMonitor/shop/web' : 'ClusterTrafficPolicy/default';
    const updated = (generations: CaptureConfig['generations']): number =>
      programmed(object, [running(generations)]).updated;
    expect([
      updated({ [`${name}@first-we`]: 4 }),
      updated({ [`${name}@second-w`]: 1, [`${name}@second-d`]: 1 }),
    ]).toEqual([0, 1]);
    // A config of version 0.1.0 has no uids.
    expect([updated({ [name]: 0 }), updated({ [name]: 1 })]).toEqual([0, 1]);
  },
);
