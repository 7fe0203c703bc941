import { emptyRecord } from '../../api/agents/node-record.ts';
import type { DepartedNode as Recorded, ServingNode } from '../../api/agents/node-record.ts';
import type { Sighting } from '../../api/agents/sightings.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { DepartedNodes } from './departed-nodes.ts';

const hour = 3_600_000;
const seen = (...nodes: string[]): Sighting[] =>
  nodes.map((node) => ({ node, uid: `uid-${node}`, machine: undefined, createdMs: 0, isServing: true }));
const serving = (node: string, keepMs = 24 * hour): ServingNode => ({
  ...{ node, uid: `uid-${node}`, machine: undefined },
  ...{ fromMs: 0, keepMs },
});
const recorded = (node: string, leftMs: number, uid = `uid-${node}`): Recorded => ({
  ...{ node, uid, machine: undefined },
  ...{ fromMs: leftMs - 2 * hour, leftMs, untilMs: leftMs + 24 * hour },
});

function aWatch() {
  const clock = new FakeClock();
  const start = clock.now();
  const nodes = new DepartedNodes(clock);
  /** Node names with the hours since the start at which they left. */
  const told = () => nodes.lacking().map(({ node, leftMs }) => `${node} ${(leftMs - start) / hour}`);
  return { clock, start, nodes, told };
}

test('a node that was seen leaving is reported as missing until its data would have expired', async () => {
  const { clock, nodes, told } = aWatch();
  nodes.note(seen('a', 'b', 'c'));
  await clock.advance(hour);
  nodes.note(seen('b'));
  expect(told()).toEqual(['a 1', 'c 1']);
  await clock.advance(24 * hour);
  expect(told()).toEqual(['a 1', 'c 1']);
  await clock.advance(1);
  expect(told()).toEqual([]);
});

test('the operator’s record tells a new process which nodes left, both before and after it was written', async () => {
  const { start, nodes, told, clock } = aWatch();
  nodes.recorded({ serving: [serving('a'), serving('b', hour)], departed: [recorded('c', start - hour)] });
  nodes.note(seen('a'));
  expect(told()).toEqual(['b 0', 'c -1']);
  await clock.advance(hour + 1);
  expect(told()).toEqual(['c -1']);
});

test('a departure that a replica saw counts until the record lists it; from then on the record counts', async () => {
  const { clock, start, nodes, told } = aWatch();
  nodes.recorded({ ...emptyRecord, serving: [serving('a')] });
  nodes.note(seen('a'));
  await clock.advance(hour);
  nodes.note([]);
  // Another look changes nothing, although the record still lists the node as serving.
  await clock.advance(hour);
  nodes.note([]);
  expect(told()).toEqual(['a 1']);
  nodes.recorded({ serving: [], departed: [recorded('a', start + hour - 900)] });
  expect(nodes.lacking()).toMatchObject([{ node: 'a', leftMs: start + hour - 900 }]);
});

test('an old departure in the record does not hide a new one that was seen', async () => {
  const { clock, start, nodes, told } = aWatch();
  nodes.recorded({ serving: [], departed: [recorded('a', start - hour)] });
  nodes.note(seen('a'));
  expect(told()).toEqual([]);
  await clock.advance(hour);
  nodes.note([]);
  expect(told()).toEqual(['a -1', 'a 1']);
});

test('departed machines of one name are reported one by one, even if another serves under that name', () => {
  const { start, nodes, told } = aWatch();
  nodes.recorded({ departed: [recorded('a', start - hour, 'x'), recorded('a', start - 2 * hour, 'y')] });
  nodes.note(seen('a'));
  expect(told()).toEqual(['a -2', 'a -1']);
});

test('a part of the record that cannot be read keeps its last value', () => {
  const { start, nodes, told } = aWatch();
  nodes.recorded({ departed: [recorded('a', start - hour)] });
  nodes.recorded({ serving: [serving('b')] });
  nodes.note(seen('b'));
  expect(told()).toEqual(['a -1']);
});

test('departed nodes that the record no longer names are reported as one entry', () => {
  const { start, nodes } = aWatch();
  const earlier = { count: 7, fromMs: start - 30 * hour, leftMs: start - hour, untilMs: start + 23 * hour };
  nodes.recorded({ earlier });
  expect(nodes.lacking()).toEqual([
    {
      node: 'departed-nodes',
      fromMs: start - 24 * hour,
      leftMs: start - hour,
      note: '7 nodes left, the last of them at 2025-12-31T23:00:00.000Z; too many to name',
    },
  ]);
});

test('without the record, departures before the start are unknown until their data would have expired', async () => {
  const { clock, start, nodes } = aWatch();
  nodes.isComplete = false;
  expect(nodes.lacking()).toMatchObject([{ node: 'departed-nodes', fromMs: start - 24 * hour, leftMs: start }]);
  expect(nodes.lacking()[0]!.note).toBe(
    'the record of nodes that left cannot be read: who left before 2026-01-01T00:00:00.000Z is not known',
  );
  await clock.advance(24 * hour + 1);
  expect(nodes.lacking()).toEqual([]);
});
