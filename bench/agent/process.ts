import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A receiver of OTLP that runs as a process of its own, so that its CPU time and memory are its alone. */
export interface Receiver {
  /** Where metrics are posted. */
  readonly url: string;
  /** Its page of metrics, where it has what was posted. */
  readonly scrapeUrl: string | null;
  /** User and system time so far. Units: s. */
  cpuSeconds(): number;
  /** Resident memory. Units: bytes. */
  rss(): number;
  /** The most that it has been. Units: bytes. */
  peakRss(): number;
  stop(): Promise<void>;
}

/** What the rendered DaemonSet gives the agent: a small young generation, so that memory stays within its budget. */
const nodeOptions = '--max-semi-space-size=4';
/** Clock ticks per second of `/proc/<pid>/stat`: 100 on every Linux that Node runs on. */
const ticks = 100;
const startLimitMs = 60_000;

/** `program`: the agent's `svc`, as built or as sources. */
export async function startAgent(program: string): Promise<Receiver> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-agent-'));
  const [http, grpc, scrape] = [await freePort(), await freePort(), await freePort()];
  const args = ['agent', '--node-name=bench', `--data-dir=${dir}/data`, `--instrument-config=${dir}/instrument.yaml`];
  const ports = [`--otlp-http-port=${http}`, `--otlp-grpc-port=${grpc}`, `--scrape-port=${scrape}`];
  const child = spawn(
    process.execPath,
    [program, ...args, ...ports, '--tls-dir=', '--bind-address=127.0.0.1', '--instrument-health-socket=@bench-none'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], NODE_OPTIONS: nodeOptions, SVC_LOG_LEVEL: 'error' },
    },
  );
  const own = `http://127.0.0.1:${scrape}`;
  const started = await receiver(child, dir, `http://127.0.0.1:${http}/v1/metrics`, `${own}/readyz`);
  return { ...started, scrapeUrl: `${own}/metrics` };
}

export async function startPrometheus(program: string): Promise<Receiver> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-prometheus-'));
  mkdirSync(join(dir, 'data'));
  const port = await freePort();
  const child = spawn(
    program,
    [
      '--web.enable-otlp-receiver',
      '--config.file=/dev/null',
      `--storage.tsdb.path=${dir}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const base = `http://127.0.0.1:${port}`;
  return receiver(child, dir, `${base}/api/v1/otlp/v1/metrics`, `${base}/-/ready`);
}

async function receiver(child: ChildProcess, dir: string, url: string, readyUrl: string): Promise<Receiver> {
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    rmSync(dir, { recursive: true, force: true });
  };
  const end = performance.now() + startLimitMs;
  while (
    !(await fetch(readyUrl).then(
      (r) => r.ok,
      () => false,
    ))
  ) {
    if (performance.now() > end || child.exitCode !== null) {
      await stop();
      throw new Error(`${readyUrl} did not become ready`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const file = (name: string): string => readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  const status = (field: string): number =>
    1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(file('status'))?.[1] ?? NaN);
  return {
    url,
    scrapeUrl: null,
    cpuSeconds: () => {
      const fields = file('stat')
        .replace(/^.*\) /s, '')
        .split(' ');
      return (Number(fields[11]) + Number(fields[12])) / ticks;
    },
    rss: () => status('VmRSS'),
    peakRss: () => status('VmHWM'),
    stop,
  };
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
