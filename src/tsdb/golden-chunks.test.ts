import { readFileSync } from 'node:fs';
import { goldenChunks, goldenStore } from '../testing/tsdb/golden-input.ts';
import type { GoldenChunk } from '../testing/tsdb/golden-input.ts';
import { decodePoints } from './chunk/index.ts';

const file = new URL('testdata/prometheus-chunks.json', import.meta.url);
const golden = JSON.parse(readFileSync(file, 'utf8')) as Record<string, GoldenChunk[]>;

test('floats and native histograms give the same chunks as remote read of a real Prometheus', async () => {
  const store = await goldenStore();
  const ours = goldenChunks(store);
  expect(Object.keys(ours)).toEqual(Object.keys(golden));
  for (const [name, chunks] of Object.entries(golden)) expect([name, ours[name]]).toEqual([name, chunks]);
  await store.close();
});

test('every golden chunk of every encoding is decoded completely', () => {
  const counts = new Map<number, number>();
  for (const { encoding, minT, maxT, hex } of Object.values(golden).flat()) {
    const bytes = Buffer.from(hex, 'hex');
    const points = decodePoints({ encoding: encoding as 1, minT, maxT, count: bytes.readUInt16BE(0), bytes });
    expect([points.length, points[0]!.t, points.at(-1)!.t]).toEqual([bytes.readUInt16BE(0), minT, maxT]);
    counts.set(encoding, (counts.get(encoding) ?? 0) + points.length);
  }
  expect([...counts.keys()].sort()).toEqual([1, 2, 3]);
});
