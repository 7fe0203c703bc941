import { emptyRecord } from './node-record.ts';
import type { DepartedNode, NodeRecord, ServingNode } from './node-record.ts';
import { readRecordData, recordData } from './record-text.ts';

const hour = 3_600_000;
const now = Date.UTC(2026, 0, 2);
const serving = (node: string, more: Partial<ServingNode> = {}): ServingNode => ({
  ...{ node, uid: `uid-${node}`, machine: undefined, fromMs: now - hour, keepMs: 24 * hour },
  ...more,
});
const departed = (node: string, leftMs = now, more: Partial<DepartedNode> = {}): DepartedNode => ({
  ...{ node, uid: `uid-${node}`, machine: undefined, fromMs: leftMs - hour, leftMs, untilMs: leftMs + 24 * hour },
  ...more,
});

test('a record of nodes reads back as written, and equal records give equal texts', () => {
  const machine = '0123456789abcdef';
  const record: NodeRecord = {
    serving: [serving('b'), serving('a', { machine, keepMs: 90_000 })],
    departed: [departed('c', now), departed('d', now - hour, { machine })],
    earlier: { count: 7, fromMs: now - 2 * hour, leftMs: now - hour, untilMs: now + hour },
  };
  const { data, leftOut } = recordData(record);
  expect(leftOut).toBe(0);
  const { record: read, refused } = readRecordData(data, now);
  expect(refused).toEqual([]);
  expect(read).toEqual({
    serving: record.serving.toReversed(),
    departed: record.departed.toReversed(),
    earlier: record.earlier,
  });
  expect(recordData(read as NodeRecord).data).toEqual(data);
  expect(readRecordData(recordData(emptyRecord).data, now)).toEqual({ record: emptyRecord, refused: [] });
});

test('where space is short, the nodes that left first are merged into one entry', () => {
  const all = Array.from({ length: 40 }, (_, i) => departed(`n${i}`, now - i * hour, { untilMs: now + i * hour + 1 }));
  const record = { ...emptyRecord, serving: [serving('s')], departed: all };
  const { data } = recordData(record, 4_096);
  expect(Object.values(data).join('').length).toBeLessThanOrEqual(4_096);
  const { departed: kept = [], earlier } = readRecordData(data, now).record;
  expect(kept.length).toBeGreaterThan(10);
  expect(kept.at(-1)!.node).toBe('n0');
  const rest = all.slice(kept.length);
  expect(earlier).toEqual({
    count: rest.length,
    fromMs: now - 40 * hour,
    leftMs: rest[0]!.leftMs,
    untilMs: rest.at(-1)!.untilMs,
  });
  // The next write merges more nodes into the entry.
  const more = { serving: [], departed: kept, earlier: earlier! };
  const again = readRecordData(recordData(more, 1_024).data, now).record;
  expect(again.departed!.length).toBeLessThan(kept.length);
  expect(again.departed).toEqual(kept.slice(-again.departed!.length));
  expect(again.earlier).toMatchObject({ count: all.length - again.departed!.length, fromMs: now - 40 * hour });
});

test('five thousand nodes with long names and two hundred departed nodes fit into one record', () => {
  const name = (i: number): string => `ip-10-120-${i >> 8}-${i & 255}.eu-central-1.compute.internal`;
  const own = { uid: '8d3c4f0e-9c1e-4c11-8f0a-6f0d5b0c9a11', machine: '0123456789abcdef' };
  const record = {
    serving: Array.from({ length: 5_000 }, (_, i) => serving(name(i), own)),
    departed: Array.from({ length: 200 }, (_, i) => departed(name(i), now, own)),
    earlier: null,
  };
  const { data, leftOut } = recordData(record);
  expect(leftOut).toBe(0);
  expect(Object.values(data).join('').length).toBeLessThan(1_000_000);
  const read = readRecordData(data, now).record;
  expect([read.serving?.length, read.departed?.length, read.earlier]).toEqual([5_000, 200, null]);
});

const good = {
  node: 'a',
  uid: 'u',
  from: '2026-01-01T00:00:00Z',
  left: '2026-01-01T01:00:00.5Z',
  until: '2026-01-02T01:00:00Z',
};
test.each<[string, object | string, string]>([
  ['invalid JSON', '{', 'departed.json: no JSON'],
  ['a value that is not a list', { a: 1 }, 'departed.json: no list'],
  ['an entry that is not an object', [good, 1], 'departed.json[1]: no object'],
  ['an invalid name', [{ ...good, node: '<b>' }, good], 'departed.json[0].node: not the name of a node'],
  ['a header in a name', [{ ...good, node: 'a\r\nset-cookie: x' }], 'departed.json[0].node: not the name of a node'],
  ['an entry without a uid', [{ ...good, uid: undefined }], 'departed.json[0].uid: not a uid'],
  ['an invalid machine', [{ ...good, machine: 5 }], 'departed.json[0].machine: not 16 hex digits'],
  ['an invalid time', [{ ...good, from: 'yesterday' }], 'departed.json[0].from: not a time as RFC 3339, UTC'],
  ['an impossible day', [{ ...good, from: '2026-99-01T00:00:00Z' }], 'departed.json[0].from: no such time'],
  ['a departure before the start', [{ ...good, left: '2025-01-01T00:00:00Z' }], 'departed.json[0].left: before from'],
  ['an end before the departure', [{ ...good, until: '2026-01-01T00:30:00Z' }], 'departed.json[0].until: before left'],
  [
    'an end in the far future',
    [{ ...good, until: '9026-01-01T00:30:00Z' }],
    'departed.json[0].until: more than ten years after left',
  ],
])('%s is refused, and the rest is kept', (_, value, fault) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const serving = { 'serving.json': '[{"node":"s","uid":"u","from":"2026-01-01T00:00:00Z","keepSeconds":60}]' };
  const { record, refused } = readRecordData({ ...serving, 'departed.json': text }, now);
  expect(refused).toEqual([fault]);
  expect(record.serving).toHaveLength(1);
  // The other entries of the list are kept.
  const others = Array.isArray(value) ? value.filter((one) => one === good) : undefined;
  expect(record.departed?.map(({ node }) => node)).toEqual(others?.map(() => 'a'));
});

test('a departure in the future counts as one of at most five minutes ahead, with the same retention', () => {
  const later = { ...good, left: '2026-01-03T00:00:00Z', until: '2026-01-03T06:00:00Z' };
  const { record, refused } = readRecordData({ 'departed.json': JSON.stringify([later]) }, now);
  const leftMs = now + 300_000;
  expect(refused).toEqual([]);
  expect(record.departed).toMatchObject([
    { node: 'a', fromMs: Date.parse(good.from), leftMs, untilMs: leftMs + 6 * hour },
  ]);
});

test.each([
  [
    'serving.json',
    '[{"node":"s","uid":"u","from":"2026-01-01T00:00:00Z","keepSeconds":-1}]',
    /keepSeconds: not a number/,
  ],
  [
    'serving.json',
    `[${Array(2).fill('{"node":"s","uid":"u","from":"2026-01-01T00:00:00Z","keepSeconds":1}')}]`,
    /\[1\].node: there twice/,
  ],
  ['earlier.json', '{"nodes":"many"}', /earlier.json.nodes: not a number/],
  ['earlier.json', '[]', /earlier.json: no object/],
])('a fault in %s is reported', (key, text, fault) => {
  expect(readRecordData({ [key]: text }, now).refused).toEqual([expect.stringMatching(fault)]);
});

test('a duplicate entry is named by its index in the text, also after refused entries', () => {
  const [one, other] = ['s', 't'].map((node) => ({ node, uid: 'u', from: '2026-01-01T00:00:00Z', keepSeconds: 1 }));
  const text = JSON.stringify([{ node: 'no uid' }, one, 5, other, one]);
  const { record, refused } = readRecordData({ 'serving.json': text }, now);
  expect(record.serving?.map(({ node }) => node)).toEqual(['s', 't']);
  expect(refused).toEqual([
    'serving.json[0].node: not the name of a node',
    'serving.json[2]: no object',
    'serving.json[4].node: there twice',
  ]);
});

test.each([[undefined], [null], ['x'], [[]], [{}]])('data that is %j gives an empty record', (data) => {
  expect(readRecordData(data, now)).toEqual({ record: {}, refused: [] });
});
