import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../cluster/eventually.ts';
import { freePorts } from '../cluster/ports.ts';
import { spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { findPrometheus } from '../prometheus/programs.ts';

/** A running Prometheus whose config, use of the machine and end are in our hands. */
export interface MeasuredPrometheus {
  readonly url: string;
  readonly pid: number;
  /** CPU seconds used so far, and resident memory in bytes, now and at most. Source: /proc. */
  usage(): { cpuSeconds: number; peakBytes: number; residentBytes: number };
  stop(): Promise<void>;
}

export interface PrometheusOptions {
  /** A folder for its config and data; used again, it has the data. */
  readonly dir: string;
  /** The text of prometheus.yml. Default: nothing is scraped. */
  readonly config?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts Prometheus and waits until it is ready. Errors: with the end of its log when it is not within 30 s. */
export async function startMeasured(options: PrometheusOptions): Promise<MeasuredPrometheus> {
  const { dir, config = 'global: {}\n', flags = [], env = {} } = options;
  const { prometheus } = await findPrometheus({ only: ['prometheus'] });
  const [port] = await freePorts(1);
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'prometheus.yml');
  await writeFile(file, config);
  const command = [
    prometheus,
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--web.enable-remote-write-receiver',
    '--log.level=warn',
    ...flags,
  ];
  const run = `prometheus-${process.pid}`;
  const child = spawnBound(command, { run, env: toolEnvironment(env), stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr?.on('data', (part: Buffer) => (log = (log + part.toString()).slice(-8000)));
  const url = `http://127.0.0.1:${port}`;
  try {
    await eventually(`Prometheus at ${url} is ready`, async () => {
      if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}`);
      return (await fetch(`${url}/-/ready`)).ok;
    });
  } catch (cause) {
    child.kill('SIGKILL');
    throw new Error(`Prometheus did not start:\n${log}`, { cause });
  }
  return { url, pid: child.pid!, usage: () => usageOf(child), stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Clock ticks a second of /proc/<pid>/stat; 100 on every Linux that Node runs on. */
const ticks = 100;

function usageOf(child: ChildProcess): ReturnType<MeasuredPrometheus['usage']> {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const bytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticks;
  return { cpuSeconds, peakBytes: bytes('VmHWM'), residentBytes: bytes('VmRSS') };
}
