import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../e2e/cluster/ports.ts';
import { cpuSecondsOf, startPeer } from '../../e2e/prometheus/server.ts';
import { coreResources } from '../../src/kube/index.ts';
import { FakeApiServer } from '../../src/testing/fake-api-server/index.ts';
import { flowSources, nodePods } from './workload.ts';

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

/** What the rendered DaemonSet gives the agent, so that memory stays within its budget. */
const smallMemory = { NODE_OPTIONS: '--max-semi-space-size=4', MALLOC_ARENA_MAX: '1' };
const startLimitMs = 60_000;
/** Pods that the API server has on the agent's node: as many as any part of the benchmark sends for. */
const benchPods = 120;

/** `program`: the agent's `svc`, as built or as sources. */
export async function startAgent(program: string): Promise<Receiver> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-agent-'));
  const api = await FakeApiServer.start();
  for (const pod of nodePods(benchPods, flowSources)) api.storage.create(coreResources.pods, pod);
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: api.url } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const [http, grpc, scrape] = await freePorts(3);
  const args = ['agent', '--node-name=bench', `--data-dir=${dir}/data`, `--instrument-config=${dir}/instrument.yaml`];
  const ports = [`--otlp-http-port=${http}`, `--otlp-grpc-port=${grpc}`, `--scrape-port=${scrape}`];
  const child = spawn(
    process.execPath,
    [program, ...args, ...ports, '--tls-dir=', '--bind-address=127.0.0.1', '--instrument-health-socket=@bench-none'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], ...smallMemory, SVC_LOG_LEVEL: 'error', KUBECONFIG: kubeconfig },
    },
  );
  const own = `http://127.0.0.1:${scrape}`;
  const started = await receiver(child, dir, `http://127.0.0.1:${http}/v1/metrics`, `${own}/readyz`);
  const stop = async (): Promise<void> => {
    await started.stop();
    await api.stop();
  };
  return { ...started, stop, scrapeUrl: `${own}/metrics` };
}

export async function startPrometheus(): Promise<Receiver> {
  const peer = await startPeer({ flags: ['--web.enable-otlp-receiver'] });
  return {
    ...figuresOf(peer.pid),
    url: `${peer.url}/api/v1/otlp/v1/metrics`,
    scrapeUrl: null,
    stop: () => peer.stop(),
  };
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
  return { ...figuresOf(child.pid!), url, scrapeUrl: null, stop };
}

/** What a running process has used. */
function figuresOf(pid: number): Pick<Receiver, 'cpuSeconds' | 'rss' | 'peakRss'> {
  const status = (field: string): number => {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? NaN);
  };
  return { cpuSeconds: () => cpuSecondsOf(pid), rss: () => status('VmRSS'), peakRss: () => status('VmHWM') };
}
