import { emptyRecord, lackingSpan, noted } from './node-record.ts';
import type { NodeRecord } from './node-record.ts';
import type { Sighting } from './sightings.ts';

const hour = 3_600_000;
const t0 = Date.UTC(2026, 0, 2);
const seen = (node: string, more: Partial<Sighting> = {}): Sighting => ({
  ...{ node, uid: `uid-${node}`, machine: undefined, createdMs: t0 - hour, isServing: true },
  ...more,
});
/** The record after a sequence of looks at the cluster, an hour apart. */
function after(looks: readonly (readonly Sighting[])[], keep: Readonly<Record<string, number>> = {}): NodeRecord {
  return looks.reduce(
    (record, sightings, i) =>
      noted(record, sightings, { nowMs: t0 + i * hour, keepMs: (node) => keep[node], defaultKeepMs: 24 * hour }),
    emptyRecord,
  );
}
const told = ({ serving, departed }: NodeRecord) => [
  serving.map(({ node }) => node),
  departed.map(({ node, leftMs }) => [node, (leftMs - t0) / hour]),
];

test('a node that leaves stays in the record: its start, its end, and when its data would have expired', () => {
  expect(after([[seen('a'), seen('b')], [seen('b')]], { a: 2 * hour }).departed).toEqual([
    {
      ...{ node: 'a', uid: 'uid-a', machine: undefined },
      ...{ fromMs: t0 - hour, leftMs: t0 + hour, untilMs: t0 + 3 * hour },
    },
  ]);
});

const m1 = { machine: '1'.repeat(16) };
const m2 = { machine: '2'.repeat(16) };
test.each<[string, Sighting[][], unknown[]]>([
  ['a node that never served is not recorded as departed', [[seen('a', { isServing: false })], []], []],
  [
    'a node whose agent went first leaves when the node goes',
    [[seen('a')], [seen('a', { isServing: false })], []],
    [['a', 2]],
  ],
  [
    'a node that is still expected has not left, whatever its agent does',
    [[seen('a')], [seen('a', { isServing: false })]],
    [],
  ],
  ['a departed node whose agent serves again is back', [[seen('a')], [], [seen('a')]], []],
  [
    'a node that is expected again is not back before its agent serves',
    [[seen('a')], [], [seen('a', { isServing: false })]],
    [['a', 1]],
  ],
  ['another Node object of the same name is another node', [[seen('a')], [seen('a', { uid: 'x' })]], [['a', 1]]],
  [
    'a Node object that the same machine registered again is the same node',
    [[seen('a', m1)], [seen('a', { uid: 'x', ...m1 })]],
    [],
  ],
  ['a Node object with another machine id than before is another node', [[seen('a', m1)], [seen('a', m2)]], [['a', 1]]],
  ['a machine id that appears only later changes nothing', [[seen('a')], [seen('a', m1)]], []],
  ['a pod that lingers without its Node object belongs to the known node', [[seen('a')], [seen('a', { uid: '' })]], []],
  ['a pod that was never seen with its Node object is not a departed node', [[seen('a', { uid: '' })], []], []],
  [
    'each machine of the same name leaves separately',
    [[seen('a')], [seen('a', { uid: 'x' })], []],
    [
      ['a', 1],
      ['a', 2],
    ],
  ],
])('%s', (_, looks, departed) => {
  expect(told(after(looks))[1]).toEqual(departed);
});

test('a node that comes back keeps the start of its old data, also when it leaves again', () => {
  const back = seen('a', { uid: 'x', createdMs: t0 + 2 * hour, ...m1 });
  const { departed } = after([[seen('a', m1)], [], [back], []]);
  expect(departed).toMatchObject([{ node: 'a', uid: 'x', fromMs: t0 - hour, leftMs: t0 + 3 * hour }]);
});

test('a node whose data would have expired is dropped from the record', () => {
  const looks = (hours: number) => [[seen('a')], ...Array.from({ length: hours }, () => [])];
  expect([24, 25].map((hours) => after(looks(hours)).departed.length)).toEqual([1, 0]);
  const earlier = { count: 3, fromMs: t0, leftMs: t0, untilMs: t0 + hour };
  const options = { keepMs: () => undefined, defaultKeepMs: hour };
  const record = { ...emptyRecord, earlier };
  expect(noted(record, [], { ...options, nowMs: t0 + hour - 1 }).earlier).toBe(earlier);
  expect(noted(record, [], { ...options, nowMs: t0 + hour }).earlier).toBeNull();
});

test('the retention of a node is the last known one', () => {
  const options = { nowMs: t0, defaultKeepMs: 24 * hour };
  const first = noted(emptyRecord, [seen('a')], { ...options, keepMs: () => 7 * hour });
  const second = noted(first, [seen('a')], { ...options, keepMs: () => undefined });
  expect(second.serving).toMatchObject([{ keepMs: 7 * hour }]);
  expect(noted(second, [seen('a')], { ...options, keepMs: () => hour }).serving).toMatchObject([{ keepMs: hour }]);
});

test.each<[string, number, [number, number] | null]>([
  ['right after the node left, all its data', 10, [0, 10]],
  ['later, the data that would not have expired yet', 22, [2, 10]],
  ['at the end of its retention, the last sample', 30, [10, 10]],
  ['after its retention, nothing', 31, null],
])('what an answer lacks of a departed node: %s', (_, now, span) => {
  const found = lackingSpan({ fromMs: 0, leftMs: 10, untilMs: 30 }, now);
  expect(found && [found.fromMs, found.toMs]).toEqual(span);
});
