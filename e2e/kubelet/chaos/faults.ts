/** Faults of a node and its control plane: each is caused, lasts, and is undone. */
import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { caRotation } from '../../cluster/ca-rotation.ts';
import type { Component } from '../../cluster/component.ts';
import type { Random } from '../../../src/testing/promql/random.ts';
import { until } from '../../../src/testing/until.ts';
import type { Stage } from '../check.ts';
import { processesOf, type Part } from '../processes-of.ts';
import { podsOf } from '../product.ts';
import { storePath } from '../surroundings.ts';

export interface Fault {
  readonly name: string;
  /** Resolves when the fault is over; recovery may take longer. */
  readonly run: (stage: Stage, random: Random) => Promise<void>;
}

const lasting = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** A random duration. Units: ms. */
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
    // It has ended already.
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

/** Drops all packets to the agent's port for queries. */
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

/** Limits the agent's answers to 32 kbit/s, which is less than the answers to the product's own queries need. */
const slowed: Fault = {
  name: 'answers of the agent slowed to 32 kbit/s for ten seconds',
  async run() {
    const agent = processesOf('agent').at(-1);
    if (agent === undefined) return;
    const discipline = (...args: string[]): void => {
      execFileSync('nsenter', [`--net=/proc/${agent}/ns/net`, 'tc', 'qdisc', ...args], { stdio: 'pipe' });
    };
    const queue = ['handle', 'e2e:', 'tbf', 'rate', '32kbit', 'burst', '2kb', 'latency', '2s'];
    discipline('add', 'dev', 'eth0', 'root', ...queue);
    await lasting(10_000);
    discipline('del', 'dev', 'eth0', 'root');
  },
};

/** Fills the file system of the agent's store. */
const filled: Fault = {
  name: 'disk of the store full for fifteen seconds',
  async run() {
    const file = join(storePath, 'filler');
    const { bavail, bsize } = statfsSync(storePath);
    // Takes the blocks that other users may use; root's reserve is not needed for the fault.
    execFileSync('fallocate', ['--length', String(bavail * bsize), file]);
    try {
      await lasting(15_000);
    } finally {
      rmSync(file);
    }
  },
};

/** Ends when every query server presents a new certificate; a kubelet takes a minute or more to update the mount. */
const replaced: Fault = {
  name: 'certificate of query replaced',
  async run({ api, kubectl }) {
    const presented = async (): Promise<string[]> => {
      const pods = await podsOf(api, 'svc-system', places.query[1]);
      return Promise.all(pods.map(({ status }) => serialNumberAt(status.podIP!)));
    };
    const before = new Set(await presented());
    await kubectl(['-n', 'svc-system', 'delete', 'secret', 'svc-query-tls']);
    await until('the query servers present a new certificate', presented, {
      good: (now) => now.length > 0 && now.every((serial) => !before.has(serial)),
      timeoutMs: 180_000,
    });
  },
};

/** Rotates the CA without the hours of waiting between the steps. Ends when no process trusts the old CA. */
const authorityReplaced: Fault = {
  name: 'authority replaced',
  async run({ api, kubectl }) {
    const rotation = await caRotation(api, kubectl);
    await rotation.distribute();
    await rotation.sign();
    await rotation.retire();
  },
};

/** The serial number of the certificate that a query server presents. */
function serialNumberAt(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // Only reads the certificate; the queries that run at the same time show whether it is trusted.
    const socket = connect({ host, port: 9_095, rejectUnauthorized: false, timeout: 5_000 });
    socket.once('secureConnect', () => {
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      resolve(serialNumber);
    });
    socket.once('timeout', () => socket.destroy(new Error(`${host} does not answer`)));
    socket.once('error', reject);
  });
}

/** Every kind of fault once; `shuffled` returns them in a random order. */
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
  slowed,
  filled,
  replaced,
  authorityReplaced,
];

/** All faults in a random order. */
export function shuffled(random: Random): Fault[] {
  const rest = [...faults];
  const order: Fault[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.below(rest.length), 1));
  return order;
}
