import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf, startPeer } from '../../e2e/prometheus/server.ts';
import type { Peer } from '../../e2e/prometheus/server.ts';
import { postWrite } from '../../e2e/prometheus/remote-write.ts';
import { writeRequest } from '../../e2e/prometheus/write-stores.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { WireWriter } from '../../src/base/protobuf-wire.ts';
import { buildStreamedRead, openStore } from '../../src/tsdb/index.ts';
import type { Labels, SeriesRef } from '../../src/tsdb/index.ts';
import { encodeLabels } from '../../src/tsdb/remote-read/label-bytes.ts';
import { agentValue, benchStart, makeSeries, standingClock, stepMs } from './series.ts';
import { best, progress, report } from './report.ts';

/** What Prometheus' own agents send in one request. */
const samplesPerRequest = 2_000;
/** As the product starts its agents. */
const agentFlags = ['--max-semi-space-size=4'];
/** The first scans are a program's that has just been started. */
const scans = 5;

/**
 * Hours of samples in scrape order into our store and, by remote write, into Prometheus; then what it takes on disk,
 * and a remote read of all of it. One core each.
 */
export async function benchDisk(dir: string, quick: boolean): Promise<void> {
  const count = quick ? 1_000 : 10_000;
  const scrapes = quick ? 240 : 960;
  const size = `${count}-series`;
  const samples = count * scrapes;
  const end = benchStart + scrapes * stepMs;
  const labels = makeSeries(count);
  const ours = await fillOurs(join(dir, 'ours'), labels, scrapes);
  const prometheus = await startPeer({
    dir: join(dir, 'prometheus'),
    flags: ['--web.enable-admin-api'],
    oneCore: true,
  });
  try {
    const theirs = await fillPrometheus(prometheus, labels, scrapes);
    report(`ingest/${size}/durable-each-scrape/samples-per-cpu-second`, 'samples/s', samples / ours.cpuSeconds, {
      peer: samples / theirs.cpuSeconds,
      goal: { value: 2, of: 'ratio' },
    });
    report(`ingest/${size}/durable-each-scrape/samples-per-second`, 'samples/s', samples / ours.seconds, {
      peer: samples / theirs.seconds,
    });
    report(`disk/${size}/bytes-per-sample-with-index`, 'B', ours.blockBytes / ours.blockSamples, {
      peer: (await snapshotBytes(prometheus, join(dir, 'prometheus/data'))) / samples,
      goal: { value: 2.7, of: 'value', atMost: true },
    });
    progress('reading by remote read');
    const server = await startOurs(join(dir, 'ours'), end);
    const mine = await scan(server.url, server.pid, end);
    server.stop();
    const peer = await scan(prometheus.url, prometheus.pid, end);
    const name = `remote-read/${size}/${(scrapes * stepMs) / 3_600_000}-hours`;
    report(`${name}/time`, 's', mine.seconds, { peer: peer.seconds, goal: { value: 0.7, of: 'ratio', atMost: true } });
    report(`${name}/server-cpu-time`, 's', mine.cpuSeconds, { peer: peer.cpuSeconds });
    report(`${name}/bytes`, 'B', mine.bytes, { peer: peer.bytes });
    report(`${name}/memory-above-idle`, 'MiB', mine.peakMiB, {
      peer: peer.peakMiB,
      goal: { value: 64, of: 'value', atMost: true },
    });
  } finally {
    await prometheus.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

interface Filled {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function fillOurs(
  dir: string,
  labels: readonly Labels[],
  scrapes: number,
): Promise<Filled & { blockBytes: number; blockSamples: number }> {
  progress(`our store: ${labels.length} series x ${scrapes} scrapes`);
  let now = benchStart;
  const clock = { ...standingClock(0), now: () => now };
  const store = await openStore({ dir, clock, logger: silentLogger });
  const series = labels.map((one): SeriesRef => ({ labels: one, slot: -1 }));
  const cpu = process.cpuUsage();
  const from = performance.now();
  for (let k = 0; k < scrapes; k++) {
    now = benchStart + k * stepMs;
    for (let i = 0; i < series.length; i++) store.append(series[i]!, now, agentValue(i, k));
    await store.commit();
    // As in a running agent: blocks, merges and checkpoints are part of the work.
    if (k % 120 === 119) await store.maintain();
  }
  const used = process.cpuUsage(cpu);
  const seconds = (performance.now() - from) / 1000;
  // Everything into blocks, to weigh it.
  now += 4 * 3_600_000;
  await store.maintain();
  const { blockBytes } = store.stats();
  await store.close();
  const blockSamples = labels.length * scrapes;
  return { seconds, cpuSeconds: (used.user + used.system) / 1e6, blockBytes, blockSamples };
}

async function fillPrometheus(prometheus: Peer, labels: readonly Labels[], scrapes: number): Promise<Filled> {
  progress('Prometheus: the same by remote write');
  const encoded = labels.map(encodeLabels);
  const before = prometheus.cpuSeconds();
  let seconds = 0;
  for (let k = 0; k < scrapes; k++) {
    for (let first = 0; first < labels.length; first += samplesPerRequest) {
      const batch = encoded.slice(first, first + samplesPerRequest).map((bytes, i) => {
        const series = new WireWriter(bytes.length + 24).raw(bytes);
        series.message(2, (s) => void s.double(1, agentValue(first + i, k)).int(2, benchStart + k * stepMs));
        return series.finish();
      });
      const body = writeRequest(batch);
      const from = performance.now();
      await postWrite(prometheus.url, body);
      seconds += (performance.now() - from) / 1000;
    }
  }
  return { seconds, cpuSeconds: prometheus.cpuSeconds() - before };
}

/** A snapshot has everything in blocks, with their indexes. */
async function snapshotBytes({ url }: Peer, data: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/admin/tsdb/snapshot`, { method: 'POST' });
  const { data: answer } = (await response.json()) as { data: { name: string } };
  return treeBytes(join(data, 'snapshots', answer.name));
}

function treeBytes(path: string): number {
  const facts = statSync(path);
  return facts.isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + treeBytes(join(path, name)), 0)
    : facts.size;
}

async function startOurs(dir: string, end: number): Promise<{ url: string; pid: number; stop: () => void }> {
  const program = fileURLToPath(new URL('serve.ts', import.meta.url));
  const child = spawn(process.execPath, [...agentFlags, program, dir, String(end)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { url: `http://127.0.0.1:${line.toString().trim()}`, pid: child.pid!, stop: () => void child.kill('SIGKILL') };
}

/**
 * Reads everything, several times, and drops it. CPU time is the server's alone, which other work on the machine
 * hardly changes. Memory: the peak during that, above what was resident before.
 */
async function scan(
  url: string,
  pid: number,
  end: number,
): Promise<{ seconds: number; cpuSeconds: number; bytes: number; peakMiB: number }> {
  const { headers, body } = buildStreamedRead([
    { startMs: benchStart, endMs: end, matchers: [{ type: '=~', name: '__name__', value: 'metric_.*' }] },
  ]);
  const resident = statusBytes(pid, 'VmRSS');
  // Writing 5 makes the kernel forget the peak so far.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  let bytes = 0;
  let leastCpu = Infinity;
  const seconds = await best(scans, async () => {
    bytes = 0;
    const before = cpuSecondsOf(pid);
    const response = await fetch(`${url}/api/v1/read`, {
      method: 'POST',
      headers,
      body: body as Uint8Array<ArrayBuffer>,
    });
    for await (const part of response.body!) bytes += part.length;
    leastCpu = Math.min(leastCpu, cpuSecondsOf(pid) - before);
  });
  return { seconds, cpuSeconds: leastCpu, bytes, peakMiB: (statusBytes(pid, 'VmHWM') - resident) / 2 ** 20 };
}

function statusBytes(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}
