import { setTimeout as pause } from 'node:timers/promises';
import { Observer } from './runtime/observer.ts';
import { ourProgram, peerProgram } from './runtime/programs.ts';
import { Subject, type Program } from './runtime/subject.ts';
import { World } from './runtime/world.ts';

/**
 * Our runtime beside controller-runtime: the same controller in both, the same real API server, one after the other in
 * turns. How to read the figures: docs/guides/benchmarks.md.
 * `--objects=5000 --seconds=20 --rate=50 --concurrency=10 --rounds=2 --only=ours`; `--quick` cuts them to 300, 4, 50, 10, 1.
 */
const flag = (name: string, otherwise: number): number => {
  const found = process.argv.find((a) => a.startsWith(`--${name}=`));
  return found ? Number(found.split('=')[1]) : otherwise;
};
const quick = process.argv.includes('--quick');
const objects = flag('objects', quick ? 300 : 5_000);
const seconds = flag('seconds', quick ? 4 : 20);
const rate = flag('rate', 50);
const concurrency = flag('concurrency', 10);
const rounds = flag('rounds', quick ? 1 : 2);
const only = process.argv.find((a) => a.startsWith('--only='))?.split('=')[1];

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Everything one program did in one round. */
interface Round {
  convergedInSeconds: number;
  latencies: number[];
  cpuConvergence: number;
  cpuLoad: number;
  peakRssMiB: number;
  restartReconciles: number;
  restartRequests: number;
  restartWrites: number;
}

async function until(what: string, condition: () => boolean | Promise<boolean>, subject: Subject): Promise<void> {
  const end = performance.now() + 300_000;
  while (!(await condition())) {
    if (!subject.running) throw new Error(`the program ended before ${what}:\n${subject.log}`);
    if (performance.now() > end) throw new Error(`${what} did not come true in 300 s:\n${subject.log}`);
    await pause(20);
  }
}

async function play(world: World, program: Program, namespace: string): Promise<Round> {
  const start = async (): Promise<Subject> =>
    new Subject(program, {
      kubeconfig: world.cluster.kubeconfig,
      namespace,
      concurrency,
      port: await world.freePort(),
    });
  await world.createNamespace(namespace);
  await world.createWidgets(namespace, objects);
  const observer = new Observer(world.client, namespace);
  await observer.start();
  let subject = await start();
  try {
    const began = performance.now();
    await until('convergence', () => observer.converged === objects, subject);
    const convergedInSeconds = (performance.now() - began) / 1000;
    const cpuConvergence = subject.usage().cpuSeconds;
    say(`${program.name}: ${objects} objects in ${convergedInSeconds.toFixed(2)} s, ${cpuConvergence} s of CPU`);

    await settled(subject);
    const cpuBefore = subject.usage().cpuSeconds;
    await change(world, namespace);
    await until('the last status', () => observer.open === 0 && observer.converged === objects, subject);
    const { cpuSeconds, peakRssMiB } = subject.usage();
    say(`${program.name}: ${observer.latencies.length} changes, p50 ${at(observer.latencies, 0.5).toFixed(1)} ms`);

    await subject.stop();
    await observer.stop();
    const writesBefore = await world.writes();
    subject = await start();
    await settled(subject);
    const restart = {
      restartReconciles: await subject.metric('controller_runtime_reconcile_total'),
      restartRequests: await subject.metric('rest_client_requests_total'),
      restartWrites: (await world.writes()) - writesBefore,
    };
    say(`${program.name}: after a restart ${JSON.stringify(restart)}`);
    return {
      convergedInSeconds,
      latencies: observer.latencies,
      cpuConvergence,
      cpuLoad: cpuSeconds - cpuBefore,
      peakRssMiB: Math.max(peakRssMiB, subject.usage().peakRssMiB),
      ...restart,
    };
  } finally {
    await observer.stop();
    await subject.stop();
  }
}

/** Until every object was reconciled and no reconcile has happened for a second. */
async function settled(subject: Subject): Promise<void> {
  let last = -1;
  let since = performance.now();
  const count = (): Promise<number> => subject.metric('controller_runtime_reconcile_total').catch(() => 0);
  await until(
    'quiet',
    async () => {
      const now = await count();
      if (now !== last) since = performance.now();
      last = now;
      await pause(200);
      return now >= objects && performance.now() - since > 1_000;
    },
    subject,
  );
}

/** Changes specs at the given rate, each object in its turn. */
async function change(world: World, namespace: string): Promise<void> {
  const total = rate * seconds;
  const began = performance.now();
  const sent: Promise<void>[] = [];
  for (let i = 0; i < total; i++) {
    const due = began + (i * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    sent.push(world.setValue(namespace, i % objects, `changed-${i}`));
  }
  await Promise.all(sent);
}

function at(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? NaN;
}

/** One line. `better` says which way is good and `goal` the ratio that is asked for; without goal nothing is. */
function emit(
  name: string,
  unit: string,
  of: (rounds: readonly Round[]) => number,
  goal: { ratio: number; better: 'more' | 'less' } | { exactly: number } | null = null,
): void {
  const ours = of(results.ours);
  const peer = results.peer.length > 0 ? of(results.peer) : NaN;
  const ratio = ours / peer;
  let met: boolean | null = null;
  if (goal && 'exactly' in goal) met = ours === goal.exactly;
  else if (goal && Number.isFinite(ratio)) met = goal.better === 'more' ? ratio >= goal.ratio : ratio <= goal.ratio;
  // A quick run proves that the bench runs; its sizes say nothing about the goals.
  if (quick && goal && !('exactly' in goal)) met = null;
  const line = {
    name: `reconcile/${objects}/${name}`,
    unit,
    ours: round(ours),
    peer: round(peer),
    ratio: round(ratio),
    goal: goal === null ? null : 'exactly' in goal ? goal.exactly : goal.ratio,
    met,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const round = (n: number): number | null => (Number.isFinite(n) ? Math.round(n * 1000) / 1000 : null);
const mean = (of: (r: Round) => number) => (all: readonly Round[]) =>
  all.reduce((sum, r) => sum + of(r), 0) / all.length;
const max = (of: (r: Round) => number) => (all: readonly Round[]) => Math.max(...all.map(of));

const results: Record<Program['name'], Round[]> = { peer: [], ours: [] };
const programs = [await ourProgram(), ...(only === 'ours' ? [] : [await peerProgram(say)])];
const world = await World.start(say);
try {
  for (let i = 0; i < rounds; i++) {
    // In turns, so that neither always meets the smaller database or the busier machine.
    for (const program of i % 2 === 0 ? programs : programs.toReversed()) {
      results[program.name].push(await play(world, program, `bench-${i}-${program.name}`));
    }
  }
} finally {
  await world.stop();
}

const atLeast = { ratio: 1, better: 'more' } as const;
const atMost = (ratio: number) => ({ ratio, better: 'less' }) as const;
emit('objects-per-second', 'objects/s', (all) => objects / mean((r) => r.convergedInSeconds)(all), atLeast);
const load = `change-to-status/${rate}-per-second`;
const pooled = (q: number) => (all: readonly Round[]) => at(all.flatMap((r) => r.latencies), q); // prettier-ignore
emit(`${load}/p50`, 'ms', pooled(0.5));
emit(`${load}/p99`, 'ms', pooled(0.99), atMost(1));
emit('cpu', 's', mean((r) => r.cpuConvergence + r.cpuLoad), atMost(1.5)); // prettier-ignore
emit('cpu/convergence', 's', mean((r) => r.cpuConvergence)); // prettier-ignore
emit(`cpu/${rate}-per-second`, 's', mean((r) => r.cpuLoad)); // prettier-ignore
emit('peak-rss', 'MiB', max((r) => r.peakRssMiB), atMost(2)); // prettier-ignore
emit('restart/reconciles', 'reconciles', max((r) => r.restartReconciles)); // prettier-ignore
emit('restart/requests', 'requests', max((r) => r.restartRequests)); // prettier-ignore
emit('restart/writes', 'requests', max((r) => r.restartWrites), { exactly: 0 }); // prettier-ignore
