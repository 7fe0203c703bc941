import type { AgentStatus } from '../../capture/index.ts';
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
const message = (...nodes: NodeState[]): string => programmed('TrafficMonitor/shop/web', 2, nodes).condition.message;

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
