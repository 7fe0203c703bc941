import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../e2e/cluster/ports.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../../e2e/cluster/processes.ts';
import { startPeer } from '../../e2e/prometheus/server.ts';
import { coreResources } from '../../src/kube/index.ts';
import { FakeApiServer } from '../../src/testing/fake-api-server/index.ts';
import { agentEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { cpuMs } from '../run/process-figures.ts';
import { flowSources, nodePods } from './workload.ts';

/** A receiver of OTLP that runs as a process of its own, so that its CPU time and memory are its own. */
export interface Receiver {
  readonly pid: number;
  /** Where metrics are posted. */
  readonly url: string;
  /** Its metrics page, which shows what was posted; null for a receiver without one. */
  readonly scrapeUrl: string | null;
  /** How many series it holds, as its own metric `name` says. Default: its metric of active series. */
  series(name?: string): Promise<number>;
  /** Processor time so far. */
  cpuMs(): number;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;
/**
 * The number of pods that the API server has on the agent's node. With default flags, no part of the benchmark posts
 * series of more pods than this.
 */
const benchPods = 120;

/** Where an agent keeps its data, and the certificate of its TLS ports. */
export interface AgentPlace {
  /** Default: a folder that is removed with the agent. */
  readonly data?: string;
  /** A folder with key, certificate and authority. Default: the TLS ports are off. */
  readonly tls?: string;
}

/** A running agent, with all of its ports. */
export interface RunningAgent extends Receiver {
  readonly ports: Record<'grpc' | 'http' | 'remote' | 'scrape' | 'spans' | 'capture', number>;
  /** SIGKILL, as when a node loses power, except that nothing written to its files is lost. */
  kill(): Promise<void>;
}

/** `program`: the `svc` to run, built or from the sources. `wrapper`: a command that binds the agent to its core. */
export async function startAgent(
  program: string,
  wrapper: readonly string[],
  atEnd: Stage['atEnd'],
  place: AgentPlace = {},
): Promise<RunningAgent> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-bench-agent-'));
  const api = await FakeApiServer.start();
  for (const pod of nodePods(benchPods, flowSources)) api.storage.create(coreResources.pods, pod);
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: api.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const [http = 0, grpc = 0, scrape = 0, remote = 0, spans = 0, capture = 0] = await freePorts(6);
  const child = spawnBound(
    [
      ...[...wrapper, process.execPath, program, 'agent', '--node-name=bench'],
      `--data-dir=${place.data ?? join(dir, 'data')}`,
      ...[`--instrument-config=${dir}/instrument.yaml`, '--instrument-health-socket=@bench-none'],
      ...[`--otlp-http-port=${http}`, `--otlp-grpc-port=${grpc}`, `--scrape-port=${scrape}`],
      ...[`--remote-read-port=${remote}`, `--span-stream-port=${spans}`, `--capture-config-port=${capture}`],
      ...[`--tls-dir=${place.tls ?? ''}`, '--bind-address=127.0.0.1'],
    ],
    {
      run: `bench-${process.pid}`,
      env: toolEnvironment({ ...agentEnvironment, SVC_LOG_LEVEL: 'error', KUBECONFIG: kubeconfig }),
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  let stopping: Promise<void> | undefined;
  const end = (signal: NodeJS.Signals): Promise<void> =>
    (stopping ??= (async () => {
      signalGroup(child.pid!, signal);
      await exited(child);
      await api.stop();
      rmSync(dir, { recursive: true, force: true });
    })());
  const stop = (): Promise<void> => end('SIGTERM');
  atEnd(stop);
  const page = `http://127.0.0.1:${scrape}`;
  await ready(`${page}/readyz`, () => child.exitCode === null);
  return {
    pid: child.pid!,
    url: `http://127.0.0.1:${http}/v1/metrics`,
    scrapeUrl: `${page}/metrics`,
    series: (name = 'svc_series_active') => gauge(`${page}/metrics`, name),
    cpuMs: () => cpuMs(child.pid!),
    ports: { http, grpc, scrape, remote, spans, capture },
    stop,
    kill: () => end('SIGKILL'),
  };
}

/** Starts Prometheus as its image does, with its OTLP receiver on. */
export async function startPrometheus(wrapper: readonly string[], atEnd: Stage['atEnd']): Promise<Receiver> {
  const peer = await startPeer({ flags: ['--web.enable-otlp-receiver'], wrapper, oneCore: wrapper.length > 0 });
  atEnd(() => peer.stop());
  return {
    pid: peer.pid,
    url: `${peer.url}/api/v1/otlp/v1/metrics`,
    scrapeUrl: null,
    series: (name = 'prometheus_tsdb_head_series') => gauge(`${peer.url}/metrics`, name),
    cpuMs: () => cpuMs(peer.pid),
    stop: () => peer.stop(),
  };
}

/**
 * Fails if the receiver holds fewer series than were sent: an agent that does not know its pods merges the series of
 * several pods.
 */
export async function expectSeries(receiver: Receiver, sent: number, name?: string): Promise<void> {
  const held = await receiver.series(name);
  if (held < sent) throw new Error(`${receiver.url}: ${held} series are held of ${sent} that were sent`);
}

/** The value of the first sample of a metric, with labels or without. */
async function gauge(url: string, name: string): Promise<number> {
  const page = await (await fetch(url, { signal: AbortSignal.timeout(10_000) })).text();
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(page)?.[1];
  if (value === undefined) throw new Error(`${url} has no ${name}`);
  return Number(value);
}

async function ready(url: string, runs: () => boolean): Promise<void> {
  const end = performance.now() + startLimitMs;
  const answers = (): Promise<boolean> =>
    fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await answers())) {
    if (performance.now() > end || !runs()) throw new Error(`${url} did not become ready`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
