import { rfc3339Nano, type SpanRecord } from '../../stream/index.ts';
import { Random } from '../../testing/promql/random.ts';
import type { Received } from './agent-stream.ts';
import { mergeHistory, Newest } from './merge-history.ts';
import { OrderBuffer } from './order-buffer.ts';
import { TimeHeap } from './time-heap.ts';

/** An item that began at `ms`, with a name that distinguishes it from others. */
function itemAt(ms: number, name = `at ${ms}`, bytes = 10): Received {
  const time = rfc3339Nano(BigInt(ms) * 1_000_000n);
  const span: SpanRecord = {
    ...{ traceId: 't', spanId: 's', name, kind: 'server', start: time },
    ...{ durationNs: 1, status: 'unset', attributes: {} },
  };
  return { message: { node: 'n', time, span }, bytes };
}
const names = (items: readonly Received[]): string[] => items.map(({ message }) => message.span!.name);
const byTime = (items: readonly Received[]): Received[] =>
  [...items].sort((a, b) => (a.message.time < b.message.time ? -1 : a.message.time > b.message.time ? 1 : 0));

async function* inBatches(items: readonly Received[], random: Random): AsyncGenerator<readonly Received[]> {
  for (let at = 0; at < items.length;) {
    const size = random.below(5);
    await Promise.resolve();
    yield items.slice(at, at + size);
    at += size;
  }
}

test('a heap returns items in order of time, and equal times in order of insertion', () => {
  const random = new Random(1);
  for (let round = 0; round < 100; round++) {
    const heap = new TimeHeap<string>();
    const all = Array.from({ length: random.below(50) }, (_, i) => ({ time: String(random.below(10)), name: `${i}` }));
    for (const { time, name } of all) heap.push(time, name);
    const out: string[] = [];
    while (heap.size > 0) out.push(heap.pop()!);
    expect(out).toEqual([...all].sort((a, b) => Number(a.time) - Number(b.time)).map(({ name }) => name));
  }
});

test('answers of random nodes are merged in order of time, and exactly the newest items are kept', async () => {
  const random = new Random(20_261_122);
  for (let round = 0; round < 150; round++) {
    const nodes = Array.from({ length: 1 + random.below(6) }, (_, node) =>
      byTime(Array.from({ length: random.below(40) }, (_, i) => itemAt(random.below(60), `${node}/${i}`))),
    );
    const merged: Received[] = [];
    for await (const batch of mergeHistory(nodes.map((items) => inBatches(items, random)))) merged.push(...batch);
    const sorted = byTime(nodes.flat());
    expect(merged.map(({ message }) => message.time)).toEqual(sorted.map(({ message }) => message.time));
    expect(names(merged).sort()).toEqual(names(sorted).sort());
    const number = 1 + random.below(30);
    const newest = new Newest(number, 1e9);
    for (const item of merged) newest.push(item);
    expect(newest.items.map(({ message }) => message.time)).toEqual(
      sorted.slice(-number).map(({ message }) => message.time),
    );
    expect(newest.lost).toBe(0);
  }
});

test('newest items that do not fit into memory are counted as lost', () => {
  const newest = new Newest(5, 30);
  for (let ms = 0; ms < 8; ms++) newest.push(itemAt(ms));
  expect(names(newest.items)).toEqual(['at 5', 'at 6', 'at 7']);
  expect(newest.lost).toBe(2);
});

test('an outstanding answer holds up later items', async () => {
  let come = (): void => {};
  const waiting = new Promise<void>((resolve) => (come = resolve));
  async function* late(): AsyncGenerator<readonly Received[]> {
    await waiting;
    yield [itemAt(1)];
  }
  let answered = false;
  const first = mergeHistory([inBatches([itemAt(0), itemAt(2)], new Random(1)), late()])
    .next()
    .finally(() => (answered = true));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(answered).toBe(false);
  come();
  expect(names((await first).value as readonly Received[])).toEqual(['at 0', 'at 1', 'at 2']);
});

test('a merge does not read far ahead of its reader', async () => {
  let asked = 0;
  async function* counted(): AsyncGenerator<readonly Received[]> {
    for (let i = 0; i < 1_000; i++) {
      asked++;
      yield Array.from({ length: 64 }, (_, k) => itemAt(64 * i + k));
    }
  }
  const merged = mergeHistory([counted()]);
  await merged.next();
  expect(asked).toBeLessThan(8);
});

test('live items are held for a second, or until there are too many, and leave in order of time', () => {
  const order = new OrderBuffer({ holdMs: 1_000, items: () => 3, maxBytes: 1e9 });
  order.push(itemAt(20), 0);
  order.push(itemAt(10), 500);
  expect([order.due, order.take(999).length]).toEqual([1_000, 0]);
  expect(names(order.take(1_000))).toEqual(['at 10', 'at 20']);
  expect(order.due).toBeUndefined();
  for (const ms of [5, 4, 3, 2]) order.push(itemAt(ms), 2_000);
  expect(names(order.take(2_000))).toEqual(['at 2']);
  expect(names(order.take(3_000))).toEqual(['at 3', 'at 4', 'at 5']);
});

test('the bytes of held items are bounded, too', () => {
  const order = new OrderBuffer({ holdMs: 1_000, items: () => 1_000, maxBytes: 25 });
  for (const ms of [3, 2, 1]) order.push(itemAt(ms), 0);
  expect(names(order.take(0))).toEqual(['at 1']);
  expect(order.size).toBe(2);
});

test('random live items: none is lost, none waits too long, and those that come within the second are in order', () => {
  const random = new Random(7);
  for (let round = 0; round < 100; round++) {
    const holdMs = 1_000;
    const order = new OrderBuffer({ holdMs, items: () => 10_000, maxBytes: 1e9 });
    // Each item is up to half a second late, so items that could overtake each other are held together.
    const coming = Array.from({ length: 80 }, (_, i) => ({ at: random.below(5_000), late: random.below(500), i }))
      .map(({ at, late, i }) => ({ item: itemAt(at, String(i)), came: at + late }))
      .sort((a, b) => a.came - b.came);
    const out: Received[] = [];
    for (let now = 0; now <= 7_000; now += 10) {
      while (coming[0] && coming[0].came <= now) order.push(coming.shift()!.item, now);
      out.push(...order.take(now));
      if ((order.due ?? Infinity) <= now) throw new Error(`at ${now} something is overdue`);
    }
    expect(out).toHaveLength(80);
    expect(out.map(({ message }) => message.time)).toEqual(byTime(out).map(({ message }) => message.time));
  }
});

test('a hundred thousand items pass through a buffer that never holds more than a hundred', () => {
  const order = new OrderBuffer({ holdMs: 1_000, items: () => 100, maxBytes: 1e9 });
  let out = 0;
  for (let i = 0; i < 100_000; i++) {
    order.push(itemAt(i), i / 100);
    out += order.take(i / 100).length;
    if (order.size > 100) throw new Error('too many are held');
  }
  expect(out + order.take(Infinity).length).toBe(100_000);
});
