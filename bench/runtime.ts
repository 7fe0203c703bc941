import { bench } from './run/bench.ts';
import type { Stage } from './run/bench.ts';
import { allCores } from './run/cores.ts';
import type { Goal } from './run/figure.ts';
import { quantile } from './run/spread.ts';
import { column, inTurns, type Turns } from './run/turns.ts';
import { ourProgram, peerProgram } from './runtime/programs.ts';
import { play, type Round } from './runtime/round.ts';
import { World } from './runtime/world.ts';

/** Goals for ratios hold from this many objects on: in a smaller run, the start of a process outweighs its work. */
const objectsOfGoals = 5_000;

await bench(
  {
    name: 'bench:runtime',
    measures:
      'Our runtime beside controller-runtime: the same controller in both, the same real API server, one after the other.\n' +
      'From the start of a process to the first convergence, then changes at a rate, then a restart on an unchanged world.\n' +
      'BENCH_NODE_FLAGS adds flags to our process.',
    options: {
      objects: { kind: 'number', value: 800, quick: 60, help: 'Widgets of a run' },
      seconds: { kind: 'number', value: 3, quick: 2, help: 'how long specs are changed' },
      rate: { kind: 'number', value: 50, quick: 20, help: 'changes a second' },
      concurrency: { kind: 'number', value: 10, help: 'workers of each program' },
      'no-peer': { kind: 'switch', help: 'ours alone' },
    },
  },
  async (stage) => {
    const { flags, say, atEnd, runs } = stage;
    const { objects, seconds, rate, concurrency } = flags;
    const ours = await ourProgram();
    const peer = flags['no-peer'] ? undefined : await peerProgram(say);
    const world = await World.start(say);
    atEnd(() => world.stop());
    const turn = (program: typeof ours) => (run: number) =>
      play(world, program, {
        ...{ namespace: `bench-${run}-${program.name}`, objects, seconds, rate, concurrency, say, atEnd },
      });
    const turns = await inTurns(runs, { ours: turn(ours), peer: peer && turn(peer) });
    tell(stage, turns, { objects, rate });
  },
);

function tell({ reporter }: Stage, turns: Turns<Round>, { objects, rate }: { objects: number; rate: number }): void {
  const cores = allCores('the program, API server, etcd and driver; one program at a time');
  const report = reporter({ cores, caches: 'new process and namespace in each run' });
  const emit = (figure: string, unit: string, of: (round: Round) => number, goal?: Goal): void => {
    const judged = goal?.of === 'ours' || objects >= objectsOfGoals ? goal : undefined;
    report({ name: `reconcile/${objects}/${figure}`, unit, ...column(turns, of), goal: judged });
  };
  const atMost = (bound: number): Goal => ({ of: 'ratio', atMost: bound });
  emit('objects-per-second', 'objects/s', (r) => r.objectsPerSecond, { of: 'ratio', atLeast: 1 });
  const delay = `change-to-status/${rate}-per-second`;
  emit(`${delay}/p50`, 'ms', (r) => quantile(r.latencies, 0.5));
  emit(`${delay}/p99`, 'ms', (r) => quantile(r.latencies, 0.99), atMost(1));
  emit('cpu', 's', (r) => r.cpuConvergence + r.cpuLoad, atMost(1.5));
  emit('cpu/convergence', 's', (r) => r.cpuConvergence);
  emit(`cpu/${rate}-per-second`, 's', (r) => r.cpuLoad);
  emit('peak-rss', 'MiB', (r) => r.peakRssMiB, atMost(2));
  emit('restart/reconciles', 'reconciles', (r) => r.restartReconciles);
  emit('restart/requests', 'requests', (r) => r.restartRequests);
  emit('restart/writes', 'requests', (r) => r.restartWrites, { of: 'ours', atMost: 0 });
}
