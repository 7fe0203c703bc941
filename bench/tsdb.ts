import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/logger.ts';
import { decodeXorChunk, highBits, lowBits, SampleBuffer, XorAppender } from '../src/tsdb/chunk/index.ts';
import { buildStreamedRead, createRemoteReadHandler, labelsFromObject, openStore } from '../src/tsdb/index.ts';
import type { Labels, Matcher, Store } from '../src/tsdb/index.ts';

/**
 * The store's figures, one JSON object a line. `--quick` cuts the sizes, to prove that the bench itself runs.
 * The peer (Prometheus' chunk codec in Go, Prometheus itself) is not part of this run yet: `peer` and `ratio` are null.
 */
const quick = process.argv.includes('--quick');
const progress = (text: string): void => void process.stderr.write(`${text}\n`);

function report(name: string, unit: string, ours: number, goal: number | null = null, lowerIsBetter = false): void {
  const met = goal === null ? null : lowerIsBetter ? ours <= goal : ours >= goal;
  const rounded = Number(ours.toPrecision(4));
  process.stdout.write(`${JSON.stringify({ name, unit, ours: rounded, peer: null, ratio: null, goal, met })}\n`);
}

/** The best of `runs`, in seconds: what the machine can do when nothing else runs. */
async function best(runs: number, work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < runs; i++) {
    const from = performance.now();
    await work();
    least = Math.min(least, performance.now() - from);
  }
  return least / 1000;
}

const stepMs = 30_000;
const end = Math.floor(Date.now() / stepMs) * stepMs;

/** A mix of series as an agent has it: idle and busy integer counters, byte counters, float sums, gauges. */
function valueOf(series: number, k: number): number {
  const noise = ((series * 2_654_435_761 + k * 40_503) >>> 0) % 1000;
  switch (series % 5) {
    case 0:
      return 17;
    case 1:
      return k * 3 + (noise % 7);
    case 2:
      return k * 150_000 + noise * 811;
    case 3:
      return (k * 1000 + noise) / 997;
    default:
      return 200 + noise / 8;
  }
}

async function benchCodec(): Promise<void> {
  const chunks = quick ? 500 : 20_000;
  const encoded: Uint8Array[] = [];
  const encode = (): void => {
    encoded.length = 0;
    for (let c = 0; c < chunks; c++) {
      const appender = new XorAppender(512);
      for (let k = 0; k < 120; k++) {
        const value = valueOf(c, k);
        appender.appendBits(end + k * stepMs, highBits(value), lowBits(value));
      }
      encoded.push(appender.bytes());
    }
  };
  const bytes = (): number => encoded.reduce((n, b) => n + b.length, 0);
  const samples = chunks * 120;
  report('chunk/encode/series-by-series/samples-per-second', 'samples/s', samples / (await best(5, encode)));
  report('chunk/bytes-per-sample', 'B', bytes() / samples);
  const out = new SampleBuffer(120);
  const decode = (): void => {
    for (const chunk of encoded) {
      out.length = 0;
      decodeXorChunk(chunk, out);
    }
  };
  report('chunk/decode/samples-per-second', 'samples/s', samples / (await best(5, decode)));
}

function makeSeries(count: number): Labels[] {
  return Array.from({ length: count }, (_, i) =>
    labelsFromObject({
      __name__: `metric_${i % 20}`,
      k8s_namespace_name: `ns-${i % 7}`,
      k8s_pod_name: `pod-${i % 200}`,
      service_name: `service-${i % 50}`,
      le: String(i % 11),
      instance: String(i),
    }),
  );
}

async function drain(store: Store, matchers: readonly Matcher[], mint: number): Promise<number> {
  const { headers, body } = buildStreamedRead([{ startMs: mint, endMs: end, matchers }]);
  const response = await createRemoteReadHandler(store)({ headers, body });
  let bytes = 0;
  for await (const part of response.body) bytes += part.length;
  return bytes;
}

async function benchStore(): Promise<void> {
  const count = quick ? 500 : 10_000;
  const scrapes = quick ? 60 : 240;
  const labels = makeSeries(count);
  const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const options = { dir, clock: systemClock, logger: silentLogger };
  try {
    let store = await openStore(options);
    const heapBefore = heap();
    progress(`appending ${count} series x ${scrapes} scrapes`);
    const cpu = process.cpuUsage();
    const from = performance.now();
    for (let k = 0; k < scrapes; k++) {
      const t = end - (scrapes - 1 - k) * stepMs;
      for (let i = 0; i < count; i++) store.append(labels[i]!, t, valueOf(i, k));
      await store.commit();
    }
    const seconds = (performance.now() - from) / 1000;
    const used = process.cpuUsage(cpu);
    const samples = count * scrapes;
    const size = `${count}-series`;
    report(`ingest/${size}/durable-each-scrape/samples-per-second`, 'samples/s', samples / seconds, 100_000);
    report(`ingest/${size}/samples-per-cpu-second`, 'samples/s', (samples / (used.user + used.system)) * 1e6);
    report(`wal/${size}/bytes-per-sample`, 'B', store.stats().walBytes / samples);
    report(`head/${size}/heap-per-series`, 'B', (heap() - heapBefore) / count);
    const one: Matcher[] = [{ type: '=', name: 'instance', value: String(count >> 1) }];
    const many: Matcher[] = [{ type: '=~', name: 'service_name', value: 'service-[1-5]' }];
    const select = (matchers: Matcher[]) => () => {
      for (const series of store.select(matchers, 0, end)) series.chunks();
    };
    report(`select/${size}/one-series/best`, 'ms', 1000 * (await best(20, select(one))));
    report(`select/${size}/regex-tenth/best`, 'ms', 1000 * (await best(5, select(many))));
    report(`select/${size}/all/best`, 'ms', 1000 * (await best(3, select([]))));
    let bytes = 0;
    const read = await best(3, async () => (bytes = await drain(store, [], 0)));
    report(`remote-read/${size}/all/best`, 'ms', 1000 * read);
    report(`remote-read/${size}/all/bytes`, 'B', bytes);
    await store.close();
    progress('replaying');
    const open = await best(3, async () => {
      await store.close();
      store = await openStore(options);
    });
    report(`replay/${size}/samples-per-second`, 'samples/s', samples / open);
    await store.close();
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Heap and typed-array bytes after a collection, when node runs with --expose-gc. */
function heap(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

await benchCodec();
await benchStore();
