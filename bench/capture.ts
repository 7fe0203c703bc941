import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { KubeObject } from '../src/api/meta.ts';
import { trafficMonitors } from '../src/api/v1alpha1/index.ts';
import { nodeMemory } from '../src/render/node-memory.ts';
import { CaptureFleet } from '../src/testing/capture/fleet.ts';
import { bench } from './run/bench.ts';
import { WrongFlag } from './run/flags.ts';
import type { Stage } from './run/bench.ts';
import { allCores } from './run/cores.ts';
import type { Goal } from './run/figure.ts';
import type { Usage } from './capture/controller.ts';
import { compileTimes } from './capture/compile-times.ts';

/** How long a config may take to arrive at all agents. Units: ms. */
const limitMs = 180_000;
/** The pause between two edits, so that each edit finds the agents at rest. Units: ms. */
const restMs = 500;

await bench(
  {
    name: 'bench:capture',
    measures:
      'One edit among many monitors. compile: the time of the compile. edits: the time from a server-side apply until the\n' +
      'last agent runs the edit, over the real protocol: an API server in memory, an agent per node with mutual TLS,\n' +
      'compile, plan, push, long polls and status writes. There is no policy, and so no throttle. The edited monitor has a\n' +
      'pod on every node. The controller has a process of its own; agents and API server share another. A run is one edit,\n' +
      'or one compile. The controller gets the flags in BENCH_NODE_FLAGS, for example --cpu-prof.',
    options: {
      only: { kind: 'text', help: 'compile or edits' },
      agents: { kind: 'number', value: 1_000, quick: 50, help: 'agents that an edit reaches' },
      runs: { kind: 'number', value: 20, quick: 5, help: 'edits, and compiles of each kind' },
      monitors: { kind: 'number', value: 50, quick: 5, help: 'monitors beside the edited one' },
    },
  },
  async (stage) => {
    const { only, agents, monitors } = stage.flags;
    if (!['', 'compile', 'edits'].includes(only)) throw new WrongFlag(`--only is ${only}, not compile or edits`);
    const { quick } = stage;
    if (only !== 'edits') {
      compileTimes(stage, quick ? { monitors: 200, nodes: 100 } : { monitors: 2_000, nodes: 1_000 });
    }
    if (only !== 'compile') await edit(stage, { agents, monitors });
  },
);

interface Edited {
  readonly seconds: number;
  readonly controllerCpu: number;
  readonly rssMiB: number;
  readonly othersCpu: number;
  readonly wireBytes: number;
}

async function edit(stage: Stage, { agents, monitors }: Record<'agents' | 'monitors', number>) {
  const { runs, say, atEnd, reporter } = stage;
  say(`starting ${agents} agents`);
  const fleet = await CaptureFleet.open({ nodes: agents });
  atEnd(() => fleet.close());
  const client = fleet.api.client();
  atEnd(() => client.close());
  const controller = startController(fleet);
  atEnd(async () => {
    if (controller.connected) controller.disconnect();
    if (controller.exitCode === null) await once(controller, 'exit');
  });
  const usage = async (): Promise<Usage> => {
    controller.send('usage');
    return ((await once(controller, 'message')) as [Usage])[0];
  };
  /** Applies the edited monitor as `kubectl apply` does; resolves when every agent runs it. */
  const applied = async (port: number): Promise<void> => {
    const { apiVersion, kind } = trafficMonitors;
    const spec = { mode: 'Capture', selector: {}, ports: [{ port }] };
    const object: KubeObject = {
      apiVersion,
      kind,
      metadata: { namespace: 'shop', name: 'edited' },
      spec,
    } as KubeObject;
    const { metadata } = await client.apply(trafficMonitors, object, { fieldManager: 'kubectl', force: true });
    const carriesOut = (agent: (typeof fleet.agents)[number]): boolean =>
      agent.ack?.phase === 'Running' && agent.generationOf('TrafficMonitor/shop/edited') === metadata.generation;
    await until(() => fleet.agents.every(carriesOut), `port ${port} on every agent`);
  };
  const wireBytes = (): number => fleet.agents.reduce((sum, a) => sum + a.wireBytes, 0);

  for (const { node } of fleet.agents) fleet.putPod(`shop/cart-${node}`, node, { app: 'cart' });
  for (let i = 0; i < monitors; i++) {
    fleet.putMonitor(`team-${i % 10}/m${i}`, { selector: { matchLabels: { app: `app-${i % 20}` } } });
  }
  await applied(9_999);
  // Every agent polls after the first configs of a new leader; those polls must not fall into the first edit.
  await pause(stage.quick ? restMs : 6_000);
  const all: Edited[] = [];
  for (let i = 0; i < runs; i++) {
    const before = { usage: await usage(), cpu: process.cpuUsage(), bytes: wireBytes() };
    const started = performance.now();
    await applied(10_000 + i);
    const seconds = (performance.now() - started) / 1000;
    await pause(restMs);
    const cpu = process.cpuUsage(before.cpu);
    const after = await usage();
    all.push({
      seconds,
      controllerCpu: (after.cpuMs - before.usage.cpuMs) / 1000,
      rssMiB: after.rssMiB,
      othersCpu: (cpu.user + cpu.system) / 1e6,
      wireBytes: (wireBytes() - before.bytes) / agents,
    });
    say(`edit ${i + 1} of ${runs}: ${seconds.toFixed(2)} s`);
  }
  const report = reporter({
    cores: allCores('the controller in one process, agents and API server in another'),
    caches: 'warm: connections kept, every agent has a config',
  });
  const name = `capture/${agents}-agents`;
  /** `atMost` is the goal for a thousand agents. */
  const emit = (figure: string, unit: string, ours: readonly number[], atMost?: number): void => {
    const goal: Goal | undefined = atMost !== undefined && agents === 1_000 ? { of: 'ours', atMost } : undefined;
    report({ name: `${name}/${figure}`, unit, ours, goal });
  };
  const times = all.map(({ seconds }) => seconds);
  emit('apply-to-last-ack', 's', times, 1);
  emit(
    'controller/cpu-per-edit',
    's',
    all.map((one) => one.controllerCpu),
    0.8,
  );
  emit(
    'agents-and-api/cpu-per-edit',
    's',
    all.map((one) => one.othersCpu),
  );
  emit(
    'wire-bytes-per-edit-and-agent',
    'B',
    all.map((one) => one.wireBytes),
  );
  emit(
    'controller/rss',
    'MiB',
    all.map((one) => one.rssMiB),
    220,
  );
}

/** Starts the controller as the operator runs: with the manifests' memory variables and the operator's Node flags. */
function startController({ api, agents }: CaptureFleet): ChildProcess {
  const flags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter(Boolean);
  return fork(join(import.meta.dirname, 'capture/controller.ts'), [api.url, String(agents[0]!.port)], {
    env: { ...process.env, ...nodeMemory('controller') },
    execArgv: ['--disable-warning=ExperimentalWarning', '--optimize-for-size', ...flags],
  });
}

/** Polls gently: a busy loop would take the CPU that is being measured. */
async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come true in ${limitMs} ms`);
    await pause(5);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
