import fc from 'fast-check';
import type { Memory } from '../../../base/memory-pool.ts';
import { Pace } from '../../../base/turns/turns.ts';
import { aHistogram } from '../../../testing/tsdb/histograms.ts';
import { encodePoints, labelsFromObject } from '../../../tsdb/index.ts';
import type { Chunk, NativeHistogram, Point } from '../../../tsdb/index.ts';
import { decodeAll, SeriesCollector, wholeSeries } from './series-collector.ts';

const node = 'node-1';
const emptyHistogram: NativeHistogram = {
  ...aHistogram(0, 0),
  ...{ positiveSpans: [], negativeSpans: [], positive: [], negative: [] },
};
const labelsOf = (name: string) => labelsFromObject({ __name__: name, k8s_node_name: node, shared: 'by all' });
const words = new Uint32Array(2);
const double = new Float64Array(words.buffer);
const point = (t: number, value: number): Point => {
  double[0] = value;
  return { t, low: words[0]!, high: words[1]! };
};
const stale = (t: number): Point => ({ t, high: 0x7ff00000, low: 2 });
const chunksOf = (points: readonly Point[], perChunk = 120): Chunk[] => encodePoints(points, perChunk);
const collector = (left = 1e6): SeriesCollector => new SeriesCollector(node, 2, { left });
const add = (to: SeriesCollector, name: string, chunks: readonly Chunk[], queryIndex = 0): void =>
  to.add({ labels: labelsOf(name), chunks, queryIndex });
const bits = (values: Float64Array): string => Buffer.from(values.slice().buffer).toString('hex');

class CountedMemory implements Memory {
  bytes = 0;

  take(bytes: number): null {
    this.bytes += bytes;
    return null;
  }

  give(bytes: number): void {
    this.bytes -= bytes;
  }
}

const samples = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 90_000 }), value: fc.double() }), {
  minLength: 1,
  maxLength: 40,
});

test('each series has its samples bit for bit on every read, in whatever order the frames arrive', () => {
  fc.assert(
    fc.property(fc.array(samples, { minLength: 1, maxLength: 5 }), fc.boolean(), (all, inOrder) => {
      const held = collector();
      const expected = new Map<string, { times: number[]; bits: string }>();
      const frames = all.flatMap((list, i) => {
        let t = 0;
        const points = list.map(({ gap, value }) => point((t += gap), value));
        const values = Float64Array.from(list, ({ value }) => value);
        expected.set(`m${i}`, { times: points.map((one) => one.t), bits: bits(values) });
        return chunksOf(points, 10).map((chunk) => ({ name: `m${i}`, chunk }));
      });
      // Out of order: the series alternate, but the chunks of each series stay in order.
      if (!inOrder) frames.sort((a, b) => a.chunk.minT - b.chunk.minT || (a.name < b.name ? 1 : -1));
      for (const { name, chunk } of frames) add(held, name, [chunk]);
      const [found, none] = held.finish();
      expect(none).toEqual([]);
      expect(found).toHaveLength(expected.size);
      for (let round = 0; round < 2; round++) {
        for (const series of found!) {
          const { times, bits: wanted } = expected.get(series.labels[0]![1])!;
          const { timestamps, values } = wholeSeries(series);
          expect([...timestamps]).toEqual(times);
          expect(bits(values)).toBe(wanted);
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('stale markers keep their bits, and labels that series share are one object', () => {
  const held = collector();
  add(held, 'a', chunksOf([point(1, 1), stale(2)]));
  add(held, 'b', chunksOf([point(1, 1)]));
  const [[a, b]] = held.finish() as [[ReturnType<typeof wholeSeries>, ReturnType<typeof wholeSeries>]];
  expect(bits(wholeSeries(a).values).slice(16)).toBe('020000000000f07f');
  expect(a.labels[2]).toBe(b.labels[2]);
});

test('floats and native histograms of one series are both kept', () => {
  const held = collector();
  const mixed = encodePoints([point(1, 5), { ...point(2, 0), histogram: aHistogram(0, 3) }], 120);
  add(held, 'a', mixed.slice(0, 1));
  add(held, 'a', mixed.slice(1));
  const [[series]] = held.finish() as [[ReturnType<typeof wholeSeries>]];
  expect([...series.timestamps]).toEqual([1, 2]);
  expect(series.histograms!.map((one) => one !== null)).toEqual([false, true]);
});

test.each([
  ['floats', 2, 0],
  ['native histograms', 0, 1],
  ['both', 2, 1],
])('series of %s are charged for their samples once when they are decoded', async (_, floats, natives) => {
  const memory = new CountedMemory();
  const held = new SeriesCollector(node, 2, { left: 1e6, memory });
  add(held, 'a', []);
  const first = memory.bytes;
  add(held, 'b', []);
  const perSeries = memory.bytes - first;
  const points = Array.from({ length: floats }, (_, t) => point(t, 5));
  const histograms = Array.from({ length: natives }, () => ({ ...point(floats, 0), histogram: emptyHistogram }));
  add(held, 'c', [...chunksOf(points), ...chunksOf(histograms)]);
  const [, , series] = await decodeAll(held.finish()[0]!, memory, new Pace());
  expect(series!.timestamps).toHaveLength(floats + natives);
  expect(memory.bytes - first - 2 * perSeries).toBe(16 * (floats + natives));
});

test('labels that no series before had take more memory than those that are kept already', () => {
  const memory = new CountedMemory();
  const held = new SeriesCollector(node, 2, { left: 1e6, memory });
  const taken = (name: string, queryIndex: number): number => {
    const before = memory.bytes;
    add(held, name, [], queryIndex);
    return memory.bytes - before;
  };
  const [all, one, none] = [taken('a', 0), taken('b', 0), taken('a', 1)];
  expect(none).toBeGreaterThan(0);
  expect(one).toBeGreaterThan(none + 100);
  expect(all).toBeGreaterThan(one + 200);
});

test('input that an agent may not send is refused', () => {
  const [good] = chunksOf([point(1, 1), point(2, 2)]) as [Chunk];
  const cut = { ...good, bytes: good.bytes.subarray(0, good.bytes.length - 2) };
  expect(() => add(collector(), 'a', [cut])).toThrow();
  expect(() => add(collector(), 'a', [good, good])).toThrow('samples of a series are not in time order');
  expect(() => add(collector(), 'a', [good], 2)).toThrow('answer to query 2, which was not asked');
  const foreign = { labels: labelsFromObject({ k8s_node_name: 'node-2' }), chunks: [good], queryIndex: 0 };
  expect(() => collector().add(foreign)).toThrow('series with k8s_node_name="node-2" from the agent of node-1');
  const poor = collector(3);
  add(poor, 'a', [good]);
  const spent = { name: 'QueryError', message: expect.stringContaining('too many samples') };
  expect(() => add(poor, 'b', [good])).toThrow(expect.objectContaining(spent));
});
