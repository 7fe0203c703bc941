import type { Stage } from '../run/bench.ts';
import type { Goal } from '../run/figure.ts';
import { cpuMs } from '../run/process-figures.ts';
import { geometricMean, median } from '../run/spread.ts';
import { column, inTurns, type Turns } from '../run/turns.ts';
import { ask, warm, type Timed } from './ask.ts';
import { sameAnswer } from './same-answer.ts';
import type { Side } from './sides.ts';

export interface Comparison {
  readonly ours: Side;
  readonly peer: Side;
  readonly chosen: readonly (readonly [name: string, query: string])[];
  readonly cores: string;
}

/** A run repeats a query for at least this long, and at least `leastAnswers` times. Units: ms. */
const leastMs = 200;
const leastAnswers = 3;

const parts = ['evaluation', 'http', 'cpu'] as const;
/**
 * What an answer costs: the evaluation as the server reports it, the time until the last byte, and the server's CPU
 * time. Units: ms.
 */
type Cost = Readonly<Record<(typeof parts)[number], number>>;

/**
 * Measures the queries on both sides (our program and the peer), warm: every query has run before the first is
 * measured. Sides take turns with each query. A difference between their answers fails the benchmark.
 */
export async function compare(stage: Stage, { ours, peer, chosen, cores }: Comparison): Promise<void> {
  const { runs, say, fail, reporter } = stage;
  say(`warming: ${chosen.length} queries on both sides`);
  for (const { url } of [ours, peer]) for (const [name, query] of chosen) await warm(url, name, query);
  const report = reporter({
    cores,
    caches: 'warm: every query was asked for a second before; files in the page cache',
  });
  const all = new Map<string, Turns<Cost>>();
  for (const [name, query] of chosen) {
    const difference = sameAnswer((await ask(ours.url, name, query)).body, (await ask(peer.url, name, query)).body);
    if (difference !== null) fail(`${name}: answers differ: ${difference}`);
    const turn = (side: Side) => (): Promise<Cost> => cost(side, name, query);
    const turns = await inTurns(runs, { ours: turn(ours), peer: turn(peer) });
    all.set(name, turns);
    for (const part of parts) {
      const goal: Goal = { of: 'ratio', atMost: 1 };
      report({ name: `${name}/${part}`, unit: 'ms', ...column(turns, (one) => one[part]), goal });
    }
  }
  for (const part of parts) {
    const ratios = Array.from({ length: runs }, (_, run) =>
      geometricMean([...all.values()].map((turns) => turns.ours[run]![part] / turns.peer[run]![part])),
    );
    const name = `all/${part}/geometric-mean-of-ratios`;
    const goal: Goal = { of: 'ratio', atMost: 0.5 };
    report({ name, unit: 'ratio', ours: ratios, peer: ratios.map(() => 1), goal });
  }
}

/** What one query costs on one side: medians over repeated answers, and CPU time per answer. `step` in seconds. */
export async function cost({ url, pid }: Side, name: string, query: string, step = 60): Promise<Cost> {
  const answers: Timed[] = [];
  const before = cpuMs(pid);
  const began = performance.now();
  while (answers.length < leastAnswers || performance.now() - began < leastMs) {
    answers.push(await ask(url, name, query, step));
  }
  const cpu = (cpuMs(pid) - before) / answers.length;
  return {
    evaluation: median(answers.map((one) => one.evaluation)),
    http: median(answers.map((one) => one.http)),
    cpu,
  };
}
