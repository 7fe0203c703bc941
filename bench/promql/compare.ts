import { ask, warm, type Timed } from './ask.ts';
import { cpuOf } from './process-cost.ts';
import { queries } from './queries.ts';
import { geometricMean, median, report } from './report.ts';
import { sameAnswer } from './same-answer.ts';

/** A server under test. */
export interface Side {
  readonly url: string;
  readonly pid: number;
}

export interface Comparison {
  /** Only queries whose name holds this text. */
  readonly only: string;
  /** Least number of measured answers of each query. */
  readonly runs: number;
}

/** Short queries are asked for at least so long, and at most so often: the median of a few answers says little. */
const leastMs = 600;
const mostRuns = 150;

/**
 * The baseline queries on both sides: cold, the first answer to each of a process just started; then warm, all of them
 * having been asked before the first is measured. Answers take turns and are compared.
 */
export async function compare(ours: Side, peer: Side, { only, runs }: Comparison): Promise<void> {
  const chosen = Object.entries(queries).filter(([name]) => name.includes(only));
  const ratios: Record<'evaluation' | 'http' | 'cpu' | 'first', number[]> = {
    evaluation: [],
    http: [],
    cpu: [],
    first: [],
  };
  for (const [name, query] of chosen) {
    const [a, b] = [await ask(ours.url, name, query), await ask(peer.url, name, query)];
    report(`${name}/http/first`, 'ms', a.http, b.http, null);
    ratios.first.push(a.http / b.http);
  }
  for (const { url } of [ours, peer]) for (const [name, query] of chosen) await warm(url, name, query);
  for (const [name, query] of chosen) {
    const mine: Timed[] = [];
    const theirs: Timed[] = [];
    const before = [cpuOf(ours.pid), cpuOf(peer.pid)] as const;
    const began = performance.now();
    for (let i = 0; i < runs || (i < mostRuns && performance.now() - began < leastMs); i++) {
      mine.push(await ask(ours.url, name, query));
      theirs.push(await ask(peer.url, name, query));
    }
    const cpu = [cpuOf(ours.pid) - before[0], cpuOf(peer.pid) - before[1]] as const;
    const difference = sameAnswer(mine.at(-1)!.body, theirs.at(-1)!.body);
    report(`${name}/answers-that-differ`, 'answers', difference === null ? 0 : 1, null, null);
    if (difference !== null) process.stderr.write(`${name}: ${difference}\n`);
    for (const part of ['evaluation', 'http'] as const) {
      const [a, b] = [mine, theirs].map((all) => median(all.map((one) => one[part]))) as [number, number];
      report(`${name}/${part}/median`, 'ms', a, b, 1);
      ratios[part].push(a / b);
    }
    report(`${name}/http/cpu`, 'ms', cpu[0] / mine.length, cpu[1] / mine.length, 1);
    ratios.cpu.push(cpu[0] / cpu[1]);
  }
  for (const part of ['evaluation', 'http', 'cpu'] as const) {
    report(`all/${part}/geometric-mean-of-ratios`, 'ratio', geometricMean(ratios[part]), 1, 0.5);
  }
  report('all/http/first/geometric-mean-of-ratios', 'ratio', geometricMean(ratios.first), 1, null);
}
