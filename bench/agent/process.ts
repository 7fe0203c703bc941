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

/** A receiver of OTLP that runs as a process of its own, so that its CPU time and memory are its alone. */
export interface Receiver {
  readonly pid: number;
  /** Where metrics are posted. */
  readonly url: string;
  /** Its page of metrics, where it has what was posted. */
  readonly scrapeUrl: string | null;
  /** Series that it holds, by its own metrics. */
  series(): Promise<number>;
  /** Processor time so far. */
  cpuMs(): number;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;
/** Pods that the API server has on the agent's node: as many as any part of the benchmark sends for. */
const benchPods = 120;

/** `program`: the agent's `svc`, as built or as sources. `wrapper` binds it to its core. */
export async function startAgent(
  program: string,
  wrapper: readonly string[],
  atEnd: Stage['atEnd'],
): Promise<Receiver> {
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
  const [http, grpc, scrape] = await freePorts(3);
  const child = spawnBound(
    [
      ...[...wrapper, process.execPath, program, 'agent', '--node-name=bench', `--data-dir=${dir}/data`],
      ...[`--instrument-config=${dir}/instrument.yaml`, '--instrument-health-socket=@bench-none'],
      ...[`--otlp-http-port=${http}`, `--otlp-grpc-port=${grpc}`, `--scrape-port=${scrape}`],
      ...['--tls-dir=', '--bind-address=127.0.0.1'],
    ],
    {
      run: `bench-${process.pid}`,
      env: toolEnvironment({ ...agentEnvironment, SVC_LOG_LEVEL: 'error', KUBECONFIG: kubeconfig }),
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopping ??= (async () => {
      signalGroup(child.pid!, 'SIGTERM');
      await exited(child);
      await api.stop();
      rmSync(dir, { recursive: true, force: true });
    })());
  atEnd(stop);
  const page = `http://127.0.0.1:${scrape}`;
  await ready(`${page}/readyz`, () => child.exitCode === null);
  return {
    pid: child.pid!,
    url: `http://127.0.0.1:${http}/v1/metrics`,
    scrapeUrl: `${page}/metrics`,
    series: () => gauge(`${page}/metrics`, 'svc_series_active'),
    cpuMs: () => cpuMs(child.pid!),
    stop,
  };
}

/** As its image starts it, with its OTLP receiver on. */
export async function startPrometheus(wrapper: readonly string[], atEnd: Stage['atEnd']): Promise<Receiver> {
  const peer = await startPeer({ flags: ['--web.enable-otlp-receiver'], wrapper, oneCore: wrapper.length > 0 });
  atEnd(() => peer.stop());
  return {
    pid: peer.pid,
    url: `${peer.url}/api/v1/otlp/v1/metrics`,
    scrapeUrl: null,
    series: () => gauge(`${peer.url}/metrics`, 'prometheus_tsdb_head_series'),
    cpuMs: () => cpuMs(peer.pid),
    stop: () => peer.stop(),
  };
}

/** Errors: fewer series than were sent. An agent that does not know its pods merges what they have. */
export async function expectSeries(receiver: Receiver, sent: number): Promise<void> {
  const held = await receiver.series();
  if (held < sent) throw new Error(`${receiver.url}: ${held} series are held of ${sent} that were sent`);
}

/** The value of a metric without labels, or with those of one node. */
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
