import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { signalGroup, spawnBound, toolEnvironment } from '../../e2e/cluster/processes.ts';
import { startPeer } from '../../e2e/prometheus/server.ts';
import { buildStreamedRead } from '../../src/tsdb/index.ts';
import { agentEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import type { Goal } from '../run/figure.ts';
import { cpuMs, forgetPeak, peakMiB, residentMiB } from '../run/process-figures.ts';
import { column, inTurns } from '../run/turns.ts';
import { fillOurs, fillPrometheus } from './fill.ts';
import { ownProgram, type StoreWork } from './programs.ts';
import { benchStart, makeSeries, stepMs } from './series.ts';

/** Measures a remote read of all series, from our store's process and from a Prometheus with the same samples. */
export async function benchRemoteRead(stage: Stage, { dir, series, scrapes }: StoreWork): Promise<void> {
  const { runs, say, atEnd, reporter } = stage;
  const end = benchStart + scrapes * stepMs;
  const labels = makeSeries(series);
  const { wrapper, says } = oneCore();
  say(`remote read: ${series} series x ${scrapes} scrapes into both, then ${runs} runs`);
  await fillOurs(join(dir, 'ours'), labels, scrapes);
  const prometheus = await startPeer({ dir: join(dir, 'prometheus'), oneCore: true, wrapper });
  atEnd(() => prometheus.stop());
  await fillPrometheus(prometheus.url, labels, scrapes);
  const ours = await startOurs(join(dir, 'ours'), end, wrapper, atEnd);
  const scanOf = (server: Server) => (): Promise<Scan> => scan(server, end);
  const sides = { ours: scanOf(ours), peer: scanOf(prometheus) };
  // The first scans compile code and read files; they do not count.
  await inTurns(1, sides);
  const turns = await inTurns(runs, sides);
  await prometheus.stop();
  await rm(dir, { recursive: true, force: true });
  const report = reporter({
    cores: says('server'),
    caches: 'warm: the same read was answered once before; files in the page cache',
  });
  const emit = (figure: string, unit: string, of: keyof Scan, goal?: Goal): void =>
    report({
      name: `remote-read/${series}-series/${scrapes}-samples/${figure}`,
      unit,
      ...column(turns, (one) => one[of]),
      goal,
    });
  emit('time', 's', 'seconds', { of: 'ratio', atMost: 0.6 });
  emit('server-cpu-time', 's', 'cpuSeconds');
  emit('bytes', 'B', 'bytes');
  emit('memory-above-idle', 'MiB', 'aboveIdleMiB', { of: 'ours', atMost: 24 });
}

interface Server {
  readonly url: string;
  readonly pid: number;
}

async function startOurs(dir: string, end: number, wrapper: readonly string[], atEnd: Stage['atEnd']): Promise<Server> {
  const child = spawnBound([...wrapper, ...ownProgram('serve.ts'), dir, String(end)], {
    run: `bench-${process.pid}`,
    env: toolEnvironment(agentEnvironment),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEnd(() => signalGroup(child.pid!, 'SIGKILL'));
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  return { url: `http://127.0.0.1:${line.toString().trim()}`, pid: child.pid! };
}

interface Scan {
  readonly seconds: number;
  /** CPU time of the server alone. */
  readonly cpuSeconds: number;
  readonly bytes: number;
  /** The peak of memory during the read, above what was resident before the read. */
  readonly aboveIdleMiB: number;
}

/** Reads all series and discards them. */
async function scan({ url, pid }: Server, end: number): Promise<Scan> {
  const { headers, body } = buildStreamedRead([
    { startMs: benchStart, endMs: end, matchers: [{ type: '=~', name: '__name__', value: 'metric_.*' }] },
  ]);
  const resident = residentMiB(pid);
  forgetPeak(pid);
  let bytes = 0;
  const before = cpuMs(pid);
  const from = performance.now();
  const response = await fetch(`${url}/api/v1/read`, {
    method: 'POST',
    headers,
    body: body as Uint8Array<ArrayBuffer>,
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  for await (const part of response.body!) bytes += part.length;
  const seconds = (performance.now() - from) / 1000;
  const cpuSeconds = (cpuMs(pid) - before) / 1000;
  return { seconds, cpuSeconds, bytes, aboveIdleMiB: peakMiB(pid) - resident };
}
