import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Figure {
  readonly peer?: number | undefined;
  /** Compared with the ratio to the peer where there is one and `of` says so, else with the value itself. */
  /** The least and the greatest ratio of the runs behind a figure that is a median. */
  readonly spread?: readonly [least: number, greatest: number];
  readonly goal?: { readonly value: number; readonly of: 'ratio' | 'value'; readonly atMost?: boolean };
}

/** Prints one figure as a line of JSON. */
export function report(name: string, unit: string, ours: number, { peer, goal, spread }: Figure = {}): void {
  const ratio = peer === undefined ? null : ours / peer;
  const judged = goal && (goal.of === 'ratio' ? ratio : ours);
  const met =
    judged === null || judged === undefined ? null : goal!.atMost ? judged <= goal!.value : judged >= goal!.value;
  const line = {
    name,
    unit,
    ours: round(ours),
    peer: peer === undefined ? null : round(peer),
    ratio: ratio && round(ratio),
    ...(spread ? { spread: spread.map(round) } : {}),
  };
  process.stdout.write(`${JSON.stringify({ ...line, goal: goal?.value ?? null, met })}\n`);
}

export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

export function spread(values: readonly number[]): [least: number, greatest: number] {
  return [Math.min(...values), Math.max(...values)];
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

/** The best of `runs`, in seconds: what the machine can do when nothing else runs. */
export async function best(runs: number, work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < runs; i++) {
    const from = performance.now();
    await work();
    least = Math.min(least, performance.now() - from);
  }
  return least / 1000;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of objects and typed arrays after a collection. */
export function heapBytes(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
