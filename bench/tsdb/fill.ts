import { postWrite } from '../../e2e/prometheus/remote-write.ts';
import { writeRequest } from '../../e2e/prometheus/write-stores.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { WireWriter } from '../../src/base/wire/protobuf-wire.ts';
import { openStore } from '../../src/tsdb/index.ts';
import type { Labels, SeriesRef } from '../../src/tsdb/index.ts';
import { encodeLabels } from '../../src/tsdb/remote-read/label-bytes.ts';
import { agentValue, benchStart, maintainEvery, standingClock, stepMs } from './series.ts';

/** What Prometheus' own agents send in one request. */
const samplesPerRequest = 2_000;

/** Appends samples in scrape order to our store in `dir`, then writes all to blocks. Returns the blocks' bytes. */
export async function fillOurs(dir: string, labels: readonly Labels[], scrapes: number): Promise<number> {
  let now = benchStart;
  const clock = { ...standingClock(0), now: () => now };
  const store = await openStore({ dir, clock, logger: silentLogger });
  const series = labels.map((one): SeriesRef => ({ labels: one, slot: -1 }));
  for (let k = 0; k < scrapes; k++) {
    now = benchStart + k * stepMs;
    for (let i = 0; i < series.length; i++) store.append(series[i]!, now, agentValue(i, k));
    await store.commit();
    if (k % maintainEvery === maintainEvery - 1) await store.maintain();
  }
  now += 4 * 3_600_000;
  await store.maintain();
  const { blockBytes } = store.stats();
  await store.close();
  return blockBytes;
}

/** Sends the same samples to a Prometheus by remote write. */
export async function fillPrometheus(url: string, labels: readonly Labels[], scrapes: number): Promise<void> {
  const encoded = labels.map(encodeLabels);
  for (let k = 0; k < scrapes; k++) {
    for (let first = 0; first < labels.length; first += samplesPerRequest) {
      const batch = encoded.slice(first, first + samplesPerRequest).map((bytes, i) => {
        const series = new WireWriter(bytes.length + 24).raw(bytes);
        series.message(2, (s) => void s.double(1, agentValue(first + i, k)).int(2, benchStart + k * stepMs));
        return series.finish();
      });
      await postWrite(url, writeRequest(batch));
    }
  }
}
