import { systemClock } from '../../base/clock.ts';
import { MemoryPool, type Memory } from '../../base/memory-pool.ts';
import type { SelectRequest, Samples } from '../../promql/index.ts';
import { encodePoints, type ReadQuery } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import { QueryScope } from '../fanout/query-scope.ts';
import { HeldChunks } from '../fanout/readers/held-chunks.ts';
import type { LongTermStore } from './long-term-store.ts';
import { SplicedSource } from './spliced-source.ts';

const boundaryMs = 1_000_000;
const samplesEach = 1_000;
const { signal } = new AbortController();
const labelsOf = (name: string): ReadSeries['labels'] => [
  ['__name__', name],
  ['k8s_node_name', 'a'],
];
const old = (name: string): ReadSeries => ({
  labels: labelsOf(name),
  timestamps: Float64Array.from({ length: samplesEach }, (_, i) => boundaryMs - samplesEach + i),
  values: new Float64Array(samplesEach).fill(1),
});

/** Chunks as agents send them. Their bytes are taken from `memory`. */
function heldChunks(names: readonly string[], memory: Memory) {
  const held = new HeldChunks();
  const high = 0x40000000;
  const points = Array.from({ length: samplesEach }, (_, i) => ({ t: boundaryMs + i, high, low: 0 }));
  return names.map((name) => {
    const series = held.series(
      labelsOf(name),
      encodePoints(points, samplesEach).map(({ bytes }) => held.keep(bytes)),
    );
    memory.take(series.heldBytes);
    return series;
  });
}

const request = (name: string): SelectRequest => ({
  matchers: [{ type: '=', name: '__name__', value: name }],
  mint: 0,
  maxt: 2 * boundaryMs,
  hints: { start: 0, end: 0, step: 0, range: 0, func: '', grouping: [], by: false },
});

function source(store: LongTermStore, recent: readonly string[], memory: Memory): SplicedSource {
  const deadline = systemClock.monotonic() + 60_000;
  const scope = new QueryScope({
    agents: [{ node: 'a', address: 'a', absence: undefined, nodeReady: true }],
    reader: async (_agent, queries) => queries.map(() => heldChunks(recent, memory)),
    ...{ clock: systemClock, agentTimeoutMs: 60_000, signal, deadline, maxSamples: 1e6, memory, lost: new Map() },
  });
  return new SplicedSource({ scope, store, boundaryMs, clock: systemClock, signal, deadline });
}

/** As a real store, it takes memory for the samples that it reads. */
const storeOf = (...names: string[]): LongTermStore => ({
  read: async (queries, { budget }) => {
    budget.memory!.take(16 * samplesEach * names.length * queries.length);
    return queries.map(() => names.map(old));
  },
});
const ofSeries = (all: readonly (ReadSeries | { labels: ReadSeries['labels']; read: () => Samples })[]) =>
  all.map((one) => {
    const { timestamps, values } = 'read' in one ? one.read() : one;
    return [one.labels[0]![1], timestamps.length, timestamps[0], values[0], values.at(-1)];
  });

test('the agents’ series stay in chunks, whose size is charged; the store’s series are decoded', async () => {
  const pool = new MemoryPool({ limitBytes: 1e9, freeBytes: 0 });
  const account = pool.open('user');
  await account.run(signal, async ({ part }) => {
    const memory = part();
    const { series, heldBytes } = await source(storeOf('both', 'older'), ['both', 'newer'], memory).select(
      request('x'),
    );
    expect(ofSeries(series)).toEqual([
      ['both', 2 * samplesEach, boundaryMs - samplesEach, 1, 2],
      ['older', samplesEach, boundaryMs - samplesEach, 1, 1],
      ['newer', samplesEach, boundaryMs, 2, 2],
    ]);
    expect(series.map((one) => 'read' in one)).toEqual([true, false, true]);
    const [chunk] = heldChunks(['other'], memory);
    expect(heldBytes).toBe(2 * chunk!.heldBytes + 16 * samplesEach);
    expect(pool.heldBytes).toBe(chunk!.heldBytes);
  });
  account.close();
});

test('the store is asked for no time that the agents have, in the hints neither', async () => {
  const asked: ReadQuery[] = [];
  const store: LongTermStore = {
    read: (queries) => {
      asked.push(...queries);
      return Promise.resolve(queries.map(() => []));
    },
  };
  const spliced = source(store, [], { take: () => null, give: () => {} });
  const hints = { ...request('x').hints, end: 2 * boundaryMs };
  await spliced.select({ ...request('x'), hints });
  await spliced.read([{ startMs: 0, endMs: 2 * boundaryMs, matchers: [], hints: { endMs: 2 * boundaryMs } }]);
  await spliced.read([{ startMs: 0, endMs: 2 * boundaryMs, matchers: [] }]);
  const last = boundaryMs - 1;
  expect(asked.map(({ endMs, hints: told }) => [endMs, told?.endMs])).toEqual([
    [last, last],
    [last, last],
    [last, undefined],
  ]);
});

test('a list keeps no memory of the store’s samples, which it does not need', async () => {
  const pool = new MemoryPool({ limitBytes: 1e9, freeBytes: 0 });
  const account = pool.open('user');
  await account.run(signal, async ({ part }) => {
    const lists = await source(storeOf('a', 'b'), [], part()).list({
      kind: 'values',
      label: '__name__',
      sets: [[], []],
      startMs: 0,
      endMs: boundaryMs - 1,
      limit: 0,
    });
    expect(lists.texts).toEqual(['a', 'b']);
    expect(pool.heldBytes).toBe(0);
  });
  account.close();
});

test('if the store fails for one selector before it answers another, both results lack its series', async () => {
  let release = (): void => {};
  const failed = new Promise<void>((resolve) => (release = resolve));
  const store: LongTermStore = {
    read: async ([query]: readonly ReadQuery[]) => {
      if (query!.matchers[0]!.value === 'first') throw new AgentFailure('unreachable', 'away');
      await failed;
      return [[old('second')]];
    },
  };
  const spliced = source(store, [], { take: () => null, give: () => {} });
  const first = spliced.select(request('first'));
  const second = spliced.select(request('second'));
  expect((await first).series).toEqual([]);
  release();
  expect((await second).series).toEqual([]);
  expect([spliced.restart, spliced.lostStore?.reason]).toEqual([false, 'unreachable']);
});
