/** Faults of a node and its control plane: each is done, lasts, and is taken back. */
import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import type { Component } from '../../cluster/component.ts';
import type { Random } from '../../../src/testing/promql/random.ts';
import type { Stage } from '../check.ts';
import { processesOf, type Part } from '../processes-of.ts';

export interface Fault {
  readonly name: string;
  /** Resolves when it is over; what it has broken may take longer. */
  readonly run: (stage: Stage, random: Random) => Promise<void>;
}

const lasting = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Units: ms. */
const between = (random: Random, least: number, most: number): number => least + random.below(most - least);

const places = {
  agent: ['svc-system', 'app.kubernetes.io/component=agent'],
  query: ['svc-system', 'app.kubernetes.io/component=query'],
  operator: ['svc-system', 'app.kubernetes.io/component=controller'],
  minter: ['platform-agent', 'app.kubernetes.io/component=minter'],
} as const;

function deleted(part: keyof typeof places): Fault {
  const [namespace, selector] = places[part];
  return {
    name: `pod of ${part} deleted`,
    async run({ kubectl }, random) {
      const names = await kubectl(['-n', namespace, 'get', 'pods', '-l', selector, '-o', 'name']);
      const pod = random.pick(names.trim().split('\n'));
      const how = random.chance(0.5) ? [] : ['--grace-period=0', '--force'];
      await kubectl(['-n', namespace, 'delete', pod, '--wait=false', ...how]);
    },
  };
}

const killed = (part: Part): Fault => ({
  name: `${part} killed`,
  run(_, random) {
    signal(random.pick(processesOf(part)), 'SIGKILL');
    return Promise.resolve();
  },
});

const paused = (part: Part): Fault => ({
  name: `${part} paused for ten seconds`,
  async run(_, random) {
    const pid = random.pick(processesOf(part));
    signal(pid, 'SIGSTOP');
    await lasting(10_000);
    signal(pid, 'SIGCONT');
  },
});

/** Sends a signal to a process; one that has ended is left alone. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile.
  }
}

const away = (name: string, of: (stage: Stage) => Component): Fault => ({
  name: `${name} killed, and away for 5 to 15 seconds`,
  async run(stage, random) {
    const component = of(stage);
    await component.kill();
    await lasting(between(random, 5_000, 15_000));
    component.start();
  },
});

const stopped = (name: string, of: (stage: Stage) => Component): Fault => ({
  name: `${name} paused for ten seconds`,
  async run(stage) {
    const { pid } = of(stage);
    signal(pid, 'SIGSTOP');
    await lasting(10_000);
    signal(pid, 'SIGCONT');
  },
});

/** No packet of a query server reaches the agent's port for questions. */
const cut: Fault = {
  name: 'query cut off from the agent for ten seconds',
  async run() {
    const agent = processesOf('agent').at(-1);
    if (agent === undefined) return;
    const inside = (rules: string): void => {
      const options: ExecFileSyncOptions = { input: rules, stdio: ['pipe', 'ignore', 'pipe'] };
      execFileSync('nsenter', [`--net=/proc/${agent}/ns/net`, 'nft', '-f', '-'], options);
    };
    inside('table ip e2e {\n chain in {\n type filter hook input priority 0;\n tcp dport 9091 drop\n }\n}\n');
    await lasting(10_000);
    inside('delete table ip e2e\n');
  },
};

/** Every kind once, in this order before it is shuffled. */
export const faults: readonly Fault[] = [
  ...(['agent', 'query', 'operator', 'minter'] as const).map(deleted),
  ...(['agent', 'instrument', 'query', 'operator', 'minter'] as const).map(killed),
  ...(['agent', 'query', 'operator'] as const).map(paused),
  away('kubelet', ({ node }) => node.kubelet),
  away('containerd', ({ node }) => node.containerd),
  away('API server', ({ plane }) => plane.apiServer),
  away('etcd', ({ plane }) => plane.etcd),
  stopped('API server', ({ plane }) => plane.apiServer),
  cut,
];

/** All of them in an order of chance. */
export function shuffled(random: Random): Fault[] {
  const rest = [...faults];
  const order: Fault[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.below(rest.length), 1));
  return order;
}
