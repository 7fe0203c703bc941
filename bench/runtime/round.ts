import { setTimeout as pause } from 'node:timers/promises';
import type { Stage } from '../run/bench.ts';
import { Observer } from './observer.ts';
import { Subject, type Program } from './subject.ts';
import type { World } from './world.ts';

/** The work of one program in one round. */
export interface RoundWork extends Pick<Stage, 'say' | 'atEnd'> {
  /** Used by this round alone. */
  readonly namespace: string;
  readonly objects: number;
  /** Specs are changed for this many seconds, at `rate` changes a second. */
  readonly seconds: number;
  readonly rate: number;
  /** Workers of the program. */
  readonly concurrency: number;
}

/** The results of one program in one round. */
export interface Round {
  objectsPerSecond: number;
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

export async function play(
  world: World,
  program: Program,
  { namespace, objects, seconds, rate, concurrency, say, atEnd }: RoundWork,
): Promise<Round> {
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
  atEnd(() => subject.stop());
  try {
    const began = performance.now();
    await until('convergence', () => observer.converged === objects, subject);
    const convergedInSeconds = (performance.now() - began) / 1000;
    const cpuConvergence = subject.usage().cpuSeconds;
    say(`${program.name}: ${objects} objects in ${convergedInSeconds.toFixed(2)} s, ${cpuConvergence} s of CPU`);

    await settled(subject, objects);
    const cpuBefore = subject.usage().cpuSeconds;
    await change(world, { namespace, objects, seconds, rate });
    await until('the last status', () => observer.open === 0 && observer.converged === objects, subject);
    const { cpuSeconds, peakRssMiB } = subject.usage();
    say(`${program.name}: ${observer.latencies.length} changes`);

    await subject.stop();
    await observer.stop();
    const writesBefore = await world.writes();
    subject = await start();
    await settled(subject, objects);
    const restart = {
      restartReconciles: await subject.metric('controller_runtime_reconcile_total'),
      restartRequests: await subject.metric('rest_client_requests_total'),
      restartWrites: (await world.writes()) - writesBefore,
    };
    say(`${program.name}: after a restart ${JSON.stringify(restart)}`);
    return {
      objectsPerSecond: objects / convergedInSeconds,
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

/** Waits until every object was reconciled and no reconcile has happened for a second. */
async function settled(subject: Subject, objects: number): Promise<void> {
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
async function change(
  world: World,
  { namespace, objects, seconds, rate }: Pick<RoundWork, 'namespace' | 'objects' | 'seconds' | 'rate'>,
): Promise<void> {
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
