import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readFileSync, writeFileSync } from 'node:fs';
import { coreResources, createKubeClient, type RestClient } from '../../../src/kube/index.ts';
import { inactivityMs } from '../../../src/runtime/watch/reflector.ts';
import { startCluster, type Cluster } from '../../cluster/cluster.ts';
import { until } from '../../../src/testing/until.ts';
import { freePorts } from '../../cluster/ports.ts';
import { Churn, seeded } from './churn.ts';
import { crd, parts } from './crd.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { Replica } from './replica.ts';
import { StorageHistory, type StoredWrite } from './storage-history.ts';
import { firstDifference, heapGrowth, type Difference } from './verdict.ts';
import type { Account } from './watch-account.ts';
import { Witness } from './witness.ts';

export interface SoakOptions {
  minutes: number;
  seed: number;
  /** Operations a second, over both namespaces. */
  rate: number;
  log: (line: string) => void;
}

export interface SoakResult {
  /** Measured values. `goal` is the highest permitted value; null: none. */
  figures: { name: string; unit: string; value: number; goal: number | null }[];
  /** One sentence for each violated invariant; empty for a soak that passed. */
  violations: string[];
}

const elected = 'soak-elected';
const steady = 'soak-steady';
const mib = 1024 ** 2;
/** How long after the last fault the cluster may differ from the desired state. Units: ms. */
const patienceMs = 120_000;
/**
 * How long the last watch frames may take: a silence of `inactivityMs`, one or two attempts to connect, and the answer.
 * Units: ms.
 */
const lastFramesMs = inactivityMs + 50_000;
/** The heap may grow by this much: caches, compiled code and buffers fill during the run. */
const heapGoalMiB = 8;

/**
 * Runs random work and random faults against a real API server, then checks the end state. In one namespace, two
 * replicas with a leader election work and are killed. In another, one process without election works for the whole
 * time, so that its heap can be judged. All of them reach the server through a proxy that cuts connections.
 */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const cluster = await startCluster({ log: options.log });
  try {
    return await new Soak(cluster, options).run();
  } finally {
    await cluster.stop();
  }
}

class Soak {
  readonly #cluster: Cluster;
  readonly #options: SoakOptions;
  readonly #random: () => number;
  readonly #direct: RestClient;
  readonly #violations: string[] = [];
  readonly #heap: number[] = [];
  readonly #faults = { restarts: 0, cuts: 0, freezes: 0, kills: 0 };
  #replicas: Replica[] = [];
  /** The kubeconfig of the replicas; it leads through the proxy. */
  #kubeconfig = '';

  constructor(cluster: Cluster, options: SoakOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#random = seeded(options.seed);
    this.#direct = createKubeClient({ kubeconfig: cluster.kubeconfig });
  }

  async run(): Promise<SoakResult> {
    const { log, minutes, rate } = this.#options;
    await this.#prepare();
    const proxy = await CuttingProxy.start(Number(new URL(this.#cluster.server).port));
    this.#kubeconfig = this.#through(proxy);
    const far = createKubeClient({ kubeconfig: this.#kubeconfig });
    const witness = new Witness(far, steady);
    const history = new StorageHistory(`/registry/${parts.group}/${parts.plural}/${steady}/`);
    const churns = [elected, steady].map(
      (namespace) => new Churn({ client: this.#direct, namespace, names: 100, random: this.#random }),
    );
    try {
      await history.start(this.#cluster.etcd);
      const constant = await this.#start(steady, 'none');
      this.#replicas = [constant, await this.#start(elected, 'a-0'), await this.#start(elected, 'b-0')];
      await witness.start();
      await until('the first leader', () => this.#leader(), { timeoutMs: 60_000 });

      const end = performance.now() + minutes * 60_000;
      await Promise.all([this.#work(churns, rate, end), this.#disturb(proxy, end), this.#weigh(constant, end)]);
      log('the faults are over');
      const converged = await this.#converge();
      await this.#checkIdle();
      if (constant.diedByItself) this.#violations.push('the process without election ended by itself');
      const shown = await this.#checkWatch(witness, history);
      const growth = heapGrowth(this.#heap) / mib;
      if (growth > heapGoalMiB) {
        this.#violations.push(`the heap grew by ${growth.toFixed(1)} MiB at a constant number of objects`);
      }
      const sum = (of: (c: Churn) => number): number => churns.reduce((total, churn) => total + of(churn), 0);
      const figure = (name: string, unit: string, value: number, goal: number | null = null) => ({
        name: `soak/${minutes}-minutes/${name}`,
        unit,
        value,
        goal,
      });
      return {
        violations: this.#violations,
        figures: [
          figure(
            'operations',
            'operations',
            sum((c) => c.operations),
          ),
          figure(
            'operations-refused',
            'operations',
            sum((c) => c.refused),
          ),
          figure('api-server-restarts', 'faults', this.#faults.restarts),
          figure('watch-cuts', 'faults', this.#faults.cuts),
          figure('half-open', 'faults', this.#faults.freezes),
          figure('leader-kills', 'faults', this.#faults.kills),
          figure('last-fault-to-desired-state', 's', converged.operator / 1000, 120),
          figure('last-fault-to-garbage-collected', 's', converged['garbage collector'] / 1000),
          figure('stuck-or-wrong', 'findings', this.#violations.length, 0),
          figure('writes-due-to-the-watch', 'writes', shown.due),
          figure('lost-by-the-watch', 'writes', shown.lost.length, 0),
          figure('lists-after-the-first', 'lists', witness.relists),
          figure('writes-between-watch-and-list', 'writes', shown.inGaps),
          figure('objects-changed-between-watch-and-list', 'objects', shown.changedByGaps),
          figure('missed-events-counted', 'objects', await witness.counted()),
          figure('heap', 'MiB', (this.#heap.at(-1) ?? 0) / mib),
          figure('heap-growth', 'MiB', growth, heapGoalMiB),
        ],
      };
    } finally {
      await witness.stop();
      history.stop();
      await Promise.all(this.#replicas.map((r) => r.end('SIGTERM')));
      await far.close();
      await this.#direct.close();
      await proxy.stop();
    }
  }

  async #prepare(): Promise<void> {
    await this.#direct.apply(coreResources.customResourceDefinitions, crd, { fieldManager: 'soak' });
    await this.#cluster.kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`, '--timeout=30s']);
    for (const name of [elected, steady]) await this.#cluster.kubectl(['create', 'namespace', name]);
  }

  #through(proxy: CuttingProxy): string {
    const path = join(this.#cluster.dir, 'through-proxy.kubeconfig');
    const text = readFileSync(this.#cluster.kubeconfig, 'utf8');
    writeFileSync(path, text.replaceAll(this.#cluster.server, `https://127.0.0.1:${proxy.port}`), { mode: 0o600 });
    return path;
  }

  async #start(namespace: string, identity: string): Promise<Replica> {
    const [port = 0] = await freePorts(1);
    const logFile = join(this.#cluster.dir, `replica-${identity}.log`);
    const replica = new Replica({ kubeconfig: this.#kubeconfig, namespace, identity, port, logFile });
    return replica;
  }

  async #leader(): Promise<Replica | undefined> {
    const states = await Promise.all(this.#replicas.map((r) => r.state()));
    return this.#replicas.find((r, i) => r.identity !== 'none' && states[i]?.leading);
  }

  async #work(churns: readonly Churn[], rate: number, end: number): Promise<void> {
    let sent = 0;
    const began = performance.now();
    const open = new Set<Promise<void>>();
    while (performance.now() < end) {
      const due = began + (sent * 1000) / rate;
      if (due > performance.now()) await pause(due - performance.now());
      // Limits how many operations pile up while the server is down.
      if (open.size >= 50) await Promise.race(open);
      const one = churns[sent++ % churns.length]!.once();
      open.add(one);
      void one.finally(() => open.delete(one));
    }
    await Promise.all(open);
  }

  async #disturb(proxy: CuttingProxy, end: number): Promise<void> {
    const { log } = this.#options;
    // A half-open connection takes more than a minute to be noticed, so only a long soak has room for one.
    const long = this.#options.minutes >= 5;
    const round = ['cut', 'kill', 'restart', 'cut', ...(long ? ['freeze'] : [])];
    for (let i = 0; ; i++) {
      const fault = round[i % round.length]!;
      const at = performance.now() + (long ? 12_000 : 6_000) * (0.7 + 0.6 * this.#random());
      if (at > end) return;
      while (performance.now() < at) {
        await pause(Math.min(500, Math.max(0, at - performance.now())));
        await this.#revive();
      }
      log(`fault: ${fault}`);
      if (fault === 'cut') {
        proxy.cut();
        this.#faults.cuts++;
      } else if (fault === 'freeze') {
        proxy.freeze();
        this.#faults.freezes++;
      } else if (fault === 'restart') {
        await this.#cluster.apiServer.kill9();
        await this.#cluster.apiServer.restart();
        this.#faults.restarts++;
      } else await this.#killLeader();
    }
  }

  async #killLeader(): Promise<void> {
    const leader = await this.#leader();
    if (!leader) return;
    await leader.end('SIGKILL');
    this.#faults.kills++;
    await this.#replace(leader);
  }

  /** Replaces each process that ended because it lost its lease, as a Deployment would. */
  async #revive(): Promise<void> {
    for (const gone of this.#replicas.filter((r) => r.identity !== 'none' && r.diedByItself)) await this.#replace(gone);
  }

  async #replace(gone: Replica): Promise<void> {
    this.#replicas = this.#replicas.filter((r) => r !== gone);
    const [name = '', count = '0'] = gone.identity.split('-');
    this.#replicas.push(await this.#start(elected, `${name}-${Number(count) + 1}`));
  }

  async #weigh(replica: Replica, end: number): Promise<void> {
    while (performance.now() < end) {
      await pause(Math.min(5_000, Math.max(0, end - performance.now())));
      const state = await replica.state();
      if (state) this.#heap.push(state.heapBytes);
    }
  }

  /**
   * Waits for the desired state: first for the operator's part, then for the deletions by Kubernetes' garbage
   * collector, which repeated kills of the API server delay. Returns how long each took after the last fault. Units:
   * ms.
   */
  async #converge(): Promise<Record<Difference['whose'], number>> {
    const began = performance.now();
    const took = { operator: 0, 'garbage collector': 0 };
    for (;;) {
      await pause(500);
      await this.#revive();
      const found = await this.#differences();
      const since = performance.now() - began;
      const ours = found.find(({ whose }) => whose === 'operator');
      if (ours) took.operator = since;
      if (found.length > 0) took['garbage collector'] = since;
      if (found.length === 0) return took;
      if (since < patienceMs) continue;
      this.#violations.push(
        `the world is not as desired ${patienceMs / 1000} s after the last fault: ${(ours ?? found[0])!.text}`,
      );
      return took;
    }
  }

  async #differences(): Promise<Difference[]> {
    const found: Difference[] = [];
    for (const namespace of [elected, steady]) {
      const one = await firstDifference(this.#direct, namespace);
      if (one) found.push({ ...one, text: `${namespace}: ${one.text}` });
    }
    return found;
  }

  /** Checks that each working process is idle, and that no key is retried again and again. A standby has no work. */
  async #checkIdle(): Promise<void> {
    const settled = async (): Promise<boolean> => {
      await this.#revive();
      const states = await Promise.all(this.#replicas.map((r) => r.state()));
      const working = states.filter((state) => state?.leading);
      return working.length === 2 && working.every((state) => state!.idle);
    };
    await until('idleness', settled, { timeoutMs: 60_000 }).catch(() => {
      this.#violations.push('a minute after the end, not every namespace has a working process that is idle');
    });
    const before = await this.#retries();
    await pause(5_000);
    if ((await this.#retries()) > before) {
      this.#violations.push('a key is retried again and again though the world is as desired');
    }
  }

  /** Checks that the watch showed every stored write. The metric must count the writes that only a list could show. */
  async #checkWatch(witness: Witness, history: StorageHistory): Promise<Account> {
    // The last writes may still be on their way: a half-open connection is noticed only by its silence.
    await until('the last frames', async () => witness.account(history).lost.length === 0, {
      timeoutMs: lastFramesMs,
    }).catch(() => {});
    const result = witness.account(history);
    if (history.broken !== undefined) this.#violations.push(`what was stored is not known: ${history.broken}`);
    if (result.lost.length > 0) {
      const [{ name, revision }] = result.lost as [StoredWrite];
      const ends = `the first ${name} at ${revision}, the last at ${result.lost.at(-1)!.revision}`;
      const told = `what was told last was at ${witness.at}, what was stored last at ${history.writes.at(-1)!.revision}`;
      this.#violations.push(`the watch lost ${result.lost.length} writes, ${ends}; ${told}`);
    }
    const counted = await witness.counted();
    if (counted !== result.changedByGaps) {
      this.#violations.push(`lists showed ${result.changedByGaps} changes, and the metric counted ${counted}`);
    }
    return result;
  }

  async #retries(): Promise<number> {
    const all = await Promise.all(this.#replicas.map((r) => r.metrics()));
    return all.reduce((sum, text) => sum + retries(text), 0);
  }
}

function retries(metrics: string): number {
  return Number(/^workqueue_retries_total\{[^}]*\} (\d+)/m.exec(metrics)?.[1] ?? 0);
}
