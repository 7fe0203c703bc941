import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { freePorts } from '../cluster/ports.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { findPrometheus } from './programs.ts';

/** How a peer (a Prometheus beside our programs) is started. */
export interface PeerOptions {
  /** Experimental features, by Prometheus' names. */
  readonly features?: readonly string[];
  /** A folder for config and data, kept for further starts. Default: a folder that is removed at the end. */
  readonly dir?: string;
  /** A data folder to serve. Default: `data` in `dir`. */
  readonly dataDir?: string;
  /** The text of prometheus.yml; relative paths in it are relative to `dir`. Default: nothing is scraped. */
  readonly config?: string;
  /** Limits Go to one core. */
  readonly oneCore?: boolean;
  /** Words to put before the command: a program that runs another, as `taskset` does. */
  readonly wrapper?: readonly string[];
  /** The port, if it must be that of a previous peer. Default: a free one. */
  readonly port?: number;
  /** Further command-line flags. */
  readonly flags?: readonly string[];
}

/** A real Prometheus on loopback. */
export interface Peer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** CPU seconds used so far. Source: /proc. */
  cpuSeconds(): number;
  /** Ends the process, if it still runs. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** The result of an instant query: the samples of a range selector, or one sample of each series. */
  samples(query: string): Promise<{ metric: Record<string, string>; values: [time: number, value: string][] }[]>;
}

const startMs = 60_000;
/** Clock ticks a second of /proc/<pid>/stat; 100 on every Linux that Node runs on. */
const ticks = 100;

/** Starts Prometheus and waits until it answers. Errors: when it ends early or is not ready within a minute. */
export async function startPeer(options: PeerOptions = {}): Promise<Peer> {
  const { prometheus } = await findPrometheus();
  const folder = options.dir ?? mkdtempSync(join(tmpdir(), 'svc-peer-'));
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'prometheus.yml');
  writeFileSync(config, options.config ?? 'global: {scrape_interval: 1h}\n');
  const port = options.port ?? (await freePorts(1))[0]!;
  const features = options.features ?? [];
  const child = spawnBound(
    [
      ...(options.wrapper ?? []),
      prometheus,
      `--config.file=${config}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--storage.tsdb.path=${options.dataDir ?? join(folder, 'data')}`,
      '--storage.tsdb.retention.time=100y',
      '--web.enable-remote-write-receiver',
      '--log.level=error',
      ...(options.flags ?? []),
      ...(features.length === 0 ? [] : [`--enable-feature=${features.join(',')}`]),
    ],
    {
      run: `peer-${process.pid}`,
      env: toolEnvironment(options.oneCore === true ? { GOMAXPROCS: '1' } : {}),
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const url = `http://127.0.0.1:${port}`;
  await ready(child, url);
  return {
    url,
    port,
    pid: child.pid!,
    cpuSeconds: () => cpuSecondsOf(child.pid!),
    samples: (query) => samplesOf(url, query),
    async stop(signal = 'SIGTERM') {
      signalGroup(child.pid!, signal);
      await exited(child);
      if (options.dir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function samplesOf(url: string, query: string): ReturnType<Peer['samples']> {
  const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
  const body = (await answer.json()) as {
    data?: { result: { metric: Record<string, string>; values?: [number, string][]; value?: [number, string] }[] };
  };
  return (body.data?.result ?? []).map(({ metric, values, value }) => ({
    metric,
    values: values ?? (value ? [value] : []),
  }));
}

/** CPU seconds that a process has used so far. Source: /proc. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  const end = Date.now() + startMs;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode} before it was ready`);
    try {
      // 503 means not ready; a server that requires credentials answers 401.
      if ((await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(1_000) })).status < 500) return;
    } catch {
      // Not listening yet.
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  signalGroup(child.pid!, 'SIGKILL');
  throw new Error(`Prometheus was not ready within ${startMs / 1000} s`);
}
