import { WireWriter } from '../../src/base/wire/protobuf-wire.ts';
import type { Store } from '../../src/tsdb/index.ts';
import { encodeTimeSeries } from '../../src/tsdb/remote-read/sampled-series.ts';
import { snappyCompress } from '../../src/tsdb/remote-read/snappy.ts';
import { postWrite } from './remote-write.ts';

/**
 * The time span that one step sends. Prometheus refuses samples more than half a block older than its newest one.
 * Units: ms.
 */
const windowMs = 30 * 60_000;
const seriesPerRequest = 2_000;

/** Sends everything that stores hold in [from, to] to a Prometheus by remote write (v1), in order of time. */
export async function writeStores(stores: readonly Store[], url: string, from: number, to: number): Promise<void> {
  for (let start = from; start <= to; start += windowMs) {
    const end = Math.min(to, start + windowMs - 1);
    let batch: Uint8Array[] = [];
    for (const store of stores) {
      for (const found of store.select([], start, end)) {
        const series = encodeTimeSeries(found.labels, found.chunks(), start, end);
        if (series) batch.push(series.bytes);
        if (batch.length < seriesPerRequest) continue;
        await postWrite(url, writeRequest(batch));
        batch = [];
      }
    }
    if (batch.length > 0) await postWrite(url, writeRequest(batch));
  }
}

/** The body of one remote-write request, from encoded prometheus.TimeSeries. */
export function writeRequest(series: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new WireWriter(series.reduce((n, s) => n + s.length + 8, 16));
  for (const one of series) out.bytes(1, one);
  return snappyCompress(out.finish()) as Uint8Array<ArrayBuffer>;
}
