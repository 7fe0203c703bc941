import { Readable } from 'node:stream';
import { buildStreamedRead, readStreamedSeries } from '../../src/tsdb/index.ts';
import type { GoldenChunk } from '../../src/testing/tsdb/golden-input.ts';
import { goldenEnd, goldenStart, goldenStore } from '../../src/testing/tsdb/golden-input.ts';
import { startPeer } from '../prometheus/server.ts';
import { writeStores } from '../prometheus/write-stores.ts';

/** Writes the input of our golden chunks into a real Prometheus, and reads its chunks back by remote read. */
export async function goldenFromPrometheus(dir: string): Promise<Record<string, GoldenChunk[]>> {
  const store = await goldenStore();
  const prometheus = await startPeer({ dir });
  try {
    await writeStores([store], prometheus.url, goldenStart, goldenEnd);
    const matchers = [{ type: '=~', name: '__name__', value: 'golden_.*' }] as const;
    const { headers, body } = buildStreamedRead([{ startMs: goldenStart, endMs: goldenEnd, matchers }]);
    const response = await fetch(`${prometheus.url}/api/v1/read`, {
      method: 'POST',
      headers,
      body: body as Uint8Array<ArrayBuffer>,
    });
    if (!response.ok) throw new Error(`remote read: ${response.status} ${await response.text()}`);
    const all: Record<string, GoldenChunk[]> = {};
    const type = response.headers.get('content-type') ?? '';
    for await (const { labels, chunks } of readStreamedSeries(type, Readable.fromWeb(response.body as never))) {
      const name = labels.map(([, value]) => value).join(' ');
      (all[name] ??= []).push(
        ...chunks.map(({ encoding, minT, maxT, bytes }) => ({
          encoding,
          minT,
          maxT,
          hex: Buffer.from(bytes).toString('hex'),
        })),
      );
    }
    return all;
  } finally {
    await prometheus.stop();
    await store.close();
  }
}
