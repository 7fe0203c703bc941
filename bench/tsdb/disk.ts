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
import { WireWriter } from '../../src/base/wire/protobuf-wire.ts';
import { buildStreamedRead, openStore } from '../../src/tsdb/index.ts';
import type { Labels, SeriesRef } from '../../src/tsdb/index.ts';
import { encodeLabels } from '../../src/tsdb/remote-read/label-bytes.ts';
import { agentValue, benchStart, makeSeries, standingClock, stepMs } from './series.ts';
import { oneCoreWrapper } from '../promql/process-cost.ts';
import { agentFlags } from './programs.ts';
import { median, progress, report, spread, type Figure } from './report.ts';

/** What Prometheus' own agents send in one request. */
const samplesPerRequest = 2_000;
/** Of each side, in turns; the first is of programs that have just been started, and is not counted. */
const scans = 6;

/**
 * Hours of samples in scrape order in our store and, by remote write, in Prometheus: what they take on disk, and a
 * remote read of all of them. Both servers are bound to the same core and take turns.
 */
export async function benchDisk(dir: string, quick: boolean): Promise<void> {
  const count = quick ? 1_000 : 10_000;
  const scrapes = quick ? 240 : 960;
  const size = `${count}-series`;
  const samples = count * scrapes;
  const end = benchStart + scrapes * stepMs;
  const labels = makeSeries(count);
  const wrapper = oneCoreWrapper();
  const ours = await fillOurs(join(dir, 'ours'), labels, scrapes);
  const prometheus = await startPeer({
    dir: join(dir, 'prometheus'),
    flags: ['--web.enable-admin-api'],
    oneCore: true,
    wrapper,
  });
  try {
    await fillPrometheus(prometheus, labels, scrapes);
    report(`disk/${size}/bytes-per-sample-with-index`, 'B', ours.blockBytes / ours.blockSamples, {
      peer: (await snapshotBytes(prometheus, join(dir, 'prometheus/data'))) / samples,
      goal: { value: 2.7, of: 'value', atMost: true },
    });
    progress('reading by remote read');
    const server = await startOurs(join(dir, 'ours'), end, wrapper);
    const turns: { ours: Scan; peer: Scan }[] = [];
    for (let i = 0; i < scans; i++) {
      turns.push({
        ours: await scan(server.url, server.pid, end),
        peer: await scan(prometheus.url, prometheus.pid, end),
      });
    }
    server.stop();
    turns.shift();
    const name = `remote-read/${size}/${(scrapes * stepMs) / 3_600_000}-hours`;
    const each = (of: keyof Scan, figure: string, unit: string, goal?: Figure['goal']): void =>
      report(`${name}/${figure}`, unit, median(turns.map(({ ours }) => ours[of])), {
        peer: median(turns.map(({ peer }) => peer[of])),
        spread: spread(turns.map(({ ours, peer }) => ours[of] / peer[of])),
        ...(goal ? { goal } : {}),
      });
    each('seconds', 'time', 's', { value: 0.7, of: 'ratio', atMost: true });
    each('cpuSeconds', 'server-cpu-time', 's');
    each('bytes', 'bytes', 'B');
    each('peakMiB', 'memory-above-idle', 'MiB', { value: 64, of: 'value', atMost: true });
  } finally {
    await prometheus.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function fillOurs(
  dir: string,
  labels: readonly Labels[],
  scrapes: number,
): Promise<{ blockBytes: number; blockSamples: number }> {
  progress(`our store: ${labels.length} series x ${scrapes} scrapes`);
  let now = benchStart;
  const clock = { ...standingClock(0), now: () => now };
  const store = await openStore({ dir, clock, logger: silentLogger });
  const series = labels.map((one): SeriesRef => ({ labels: one, slot: -1 }));
  for (let k = 0; k < scrapes; k++) {
    now = benchStart + k * stepMs;
    for (let i = 0; i < series.length; i++) store.append(series[i]!, now, agentValue(i, k));
    await store.commit();
    // As in a running agent: blocks, merges and checkpoints are part of the work.
    if (k % 120 === 119) await store.maintain();
  }
  // Everything into blocks, to weigh it.
  now += 4 * 3_600_000;
  await store.maintain();
  const { blockBytes } = store.stats();
  await store.close();
  const blockSamples = labels.length * scrapes;
  return { blockBytes, blockSamples };
}

async function fillPrometheus(prometheus: Peer, labels: readonly Labels[], scrapes: number): Promise<void> {
  progress('Prometheus: the same by remote write');
  const encoded = labels.map(encodeLabels);
  for (let k = 0; k < scrapes; k++) {
    for (let first = 0; first < labels.length; first += samplesPerRequest) {
      const batch = encoded.slice(first, first + samplesPerRequest).map((bytes, i) => {
        const series = new WireWriter(bytes.length + 24).raw(bytes);
        series.message(2, (s) => void s.double(1, agentValue(first + i, k)).int(2, benchStart + k * stepMs));
        return series.finish();
      });
      await postWrite(prometheus.url, writeRequest(batch));
    }
  }
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

async function startOurs(
  dir: string,
  end: number,
  wrapper: readonly string[],
): Promise<{ url: string; pid: number; stop: () => void }> {
  const program = fileURLToPath(new URL('serve.ts', import.meta.url));
  // `taskset` becomes the program it starts, so the child is the server.
  const [command, ...args] = [...wrapper, process.execPath, ...agentFlags, program, dir, String(end)];
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { url: `http://127.0.0.1:${line.toString().trim()}`, pid: child.pid!, stop: () => void child.kill('SIGKILL') };
}

interface Scan {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly bytes: number;
  readonly peakMiB: number;
}

/**
 * Reads everything and drops it. CPU time is the server's alone, which other work on the machine hardly changes.
 * Memory: the peak during that, above what was resident before.
 */
async function scan(url: string, pid: number, end: number): Promise<Scan> {
  const { headers, body } = buildStreamedRead([
    { startMs: benchStart, endMs: end, matchers: [{ type: '=~', name: '__name__', value: 'metric_.*' }] },
  ]);
  const resident = statusBytes(pid, 'VmRSS');
  // Writing 5 makes the kernel forget the peak so far.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  let bytes = 0;
  const before = cpuSecondsOf(pid);
  const from = performance.now();
  const response = await fetch(`${url}/api/v1/read`, {
    method: 'POST',
    headers,
    body: body as Uint8Array<ArrayBuffer>,
  });
  for await (const part of response.body!) bytes += part.length;
  const seconds = (performance.now() - from) / 1000;
  const cpuSeconds = cpuSecondsOf(pid) - before;
  return { seconds, cpuSeconds, bytes, peakMiB: (statusBytes(pid, 'VmHWM') - resident) / 2 ** 20 };
}

function statusBytes(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}
