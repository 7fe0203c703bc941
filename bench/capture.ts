import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { KubeObject } from '../src/api/meta.ts';
import { trafficMonitors } from '../src/api/v1alpha1/index.ts';
import { smallProcess } from '../src/render/small-process.ts';
import { CaptureFleet } from '../src/testing/capture/fleet.ts';
import type { Usage } from './capture/controller.ts';
import { compileTimes } from './capture/compile-times.ts';

/**
 * What one edit among many monitors costs to compile; then from an apply to the last agent's acknowledgement over the
 * real protocol: a server-side apply over HTTP to an API server in memory, one agent per node behind mutual TLS, the
 * real compile, plan, push, long polls and status writes, no policy and so no throttle. The edited monitor has a pod on
 * every node. The controller has a process of its own; the agents and the API server share the other one, so on two
 * cores the time includes the work of a thousand agents on one of them.
 * `--agents=1000 --edits=30 --monitors=50`; `--quick` cuts them to 50, 5 and 5; `--compile-only` measures the compile
 * alone, `--no-compile` leaves it out. BENCH_NODE_FLAGS goes to the controller (`--cpu-prof`).
 */
const flag = (name: string, otherwise: number): number => {
  const found = process.argv.find((a) => a.startsWith(`--${name}=`));
  return found ? Number(found.split('=')[1]) : otherwise;
};
const quick = process.argv.includes('--quick');
const agents = flag('agents', quick ? 50 : 1_000);
const edits = flag('edits', quick ? 5 : 30);
const monitors = flag('monitors', quick ? 5 : 50);
const limitMs = 180_000;

/** Polls gently: a busy loop would take the CPU that is being measured. */
async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come true in ${limitMs} ms`);
    await pause(5);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const emit = (name: string, unit: string, ours: number, goal: number | null): void => {
  const met = goal === null ? null : ours <= goal;
  process.stdout.write(`${JSON.stringify({ name, unit, ours: round(ours), peer: null, ratio: null, goal, met })}\n`);
};
const round = (n: number): number => Math.round(n * 1000) / 1000;

if (!process.argv.includes('--no-compile')) {
  compileTimes(quick ? { monitors: 200, nodes: 100 } : { monitors: 2_000, nodes: 1_000 }, emit);
}
if (process.argv.includes('--compile-only')) process.exit(0);

say(`starting ${agents} agents`);
const fleet = await CaptureFleet.open({ nodes: agents });
const client = fleet.api.client();
const controller = fork(
  join(import.meta.dirname, 'capture/controller.ts'),
  [fleet.api.url, String(fleet.agents[0]!.port)],
  {
    // As the operator runs: what the manifests set, and what `svc operator` sets itself.
    env: { ...process.env, ...smallProcess },
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--optimize-for-size',
      ...(process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter(Boolean),
    ],
  },
);
const usage = async (): Promise<Usage> => {
  controller.send('usage');
  return ((await once(controller, 'message')) as [Usage])[0];
};

/** As `kubectl apply` does it. */
async function apply(port: number): Promise<number> {
  const { apiVersion, kind } = trafficMonitors;
  const spec = { mode: 'Capture', selector: {}, ports: [{ port }] };
  const object: KubeObject = { apiVersion, kind, metadata: { namespace: 'shop', name: 'edited' }, spec } as KubeObject;
  const applied = await client.apply(trafficMonitors, object, { fieldManager: 'kubectl', force: true });
  return applied.metadata.generation ?? 0;
}
const run = (generation: number): boolean =>
  fleet.agents.every(
    (a) => a.ack?.phase === 'Running' && a.config?.generations['TrafficMonitor/shop/edited'] === generation,
  );
const wireBytes = (): number => fleet.agents.reduce((sum, a) => sum + a.wireBytes, 0);

try {
  for (const { node } of fleet.agents) fleet.putPod(`shop/cart-${node}`, node, { app: 'cart' });
  for (let i = 0; i < monitors; i++) {
    fleet.putMonitor(`team-${i % 10}/m${i}`, { selector: { matchLabels: { app: `app-${i % 20}` } } });
  }
  const begun = performance.now();
  const first = await apply(9_999);
  await until(() => run(first), 'the first configs');
  emit(`capture/${agents}-agents/first-config`, 's', (performance.now() - begun) / 1000, null);
  await pause(quick ? 500 : 6_000);

  const times: number[] = [];
  const before = await usage();
  const bytes = wireBytes();
  const cpu = process.cpuUsage();
  for (let i = 0; i < edits; i++) {
    const started = performance.now();
    const generation = await apply(10_000 + i);
    await until(() => run(generation), `edit ${i} on every agent`);
    times.push(performance.now() - started);
    say(`edit ${i + 1}/${edits}: ${Math.round(times.at(-1)!)} ms`);
    await pause(500);
  }
  const after = await usage();
  const others = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const at = (q: number): number => times[Math.min(times.length - 1, Math.ceil(q * times.length) - 1)]! / 1000;
  const work = `capture/${agents}-agents`;
  emit(`${work}/apply-to-last-ack/p50`, 's', at(0.5), null);
  emit(`${work}/apply-to-last-ack/p99`, 's', at(0.99), agents === 1_000 ? 2 : null);
  emit(`${work}/controller/cpu-per-edit`, 's', (after.cpuMs - before.cpuMs) / 1000 / edits, null);
  emit(`${work}/controller/rss`, 'MiB', after.rssMiB, null);
  emit(`${work}/controller/peak-rss`, 'MiB', after.peakRssMiB, null);
  emit(`${work}/agents-and-api/cpu-per-edit`, 's', (others.user + others.system) / 1e6 / edits, null);
  emit(`${work}/wire-bytes-per-edit-and-agent`, 'B', (wireBytes() - bytes) / edits / agents, null);
} finally {
  controller.disconnect();
  await once(controller, 'exit');
  await client.close();
  await fleet.close();
}
