import { spreadOf } from './spread.ts';
import type { Spread } from './spread.ts';

/** What both sides of a figure, ours and the peer's, ran on. */
export interface Setting {
  /** Which process has which cores. */
  readonly cores: string;
  /** Which caches are warm, which are cold. */
  readonly caches: string;
}

/** A bound for the ratio to the peer, or for our own value. */
export interface Goal {
  readonly of: 'ratio' | 'ours';
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** One figure before it is printed: a value of each run, in the order of the runs. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** As many as `ours`. The values at the same index come from one turn, in which each side runs once. */
  readonly peer?: readonly number[] | undefined;
  readonly goal?: Goal | undefined;
}

/** One figure as a line of JSON. `ours`, `peer` and `ratio` are the medians of their runs. */
export interface FigureLine extends Setting {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number | null;
  readonly ratio: number | null;
  readonly goal: number | null;
  /** The goal as text, such as `ratio ≤ 2`; null without a goal. */
  readonly asks: string | null;
  readonly met: boolean | null;
  readonly runs: Spread;
  readonly peerRuns: Spread | null;
  /** The spread of the ratios of the turns. */
  readonly ratioRuns: Spread | null;
}

/** Errors: there are no runs, a run is not a number, or the sides have different numbers of runs. */
export function figureLine({ cores, caches }: Setting, { name, unit, ours, peer, goal }: Figure): FigureLine {
  const runs = spread(name, ours);
  const peerRuns = peer === undefined ? null : spread(name, peer);
  if (peer !== undefined && peer.length !== ours.length) {
    throw new Error(`${name}: ${ours.length} runs of ours, ${peer.length} of the peer`);
  }
  // Two zeros have the ratio 1; any other value has no ratio to a peer of zero.
  const ratios = peer?.map((theirs, i) => (theirs === 0 && ours[i] === 0 ? 1 : ours[i]! / theirs));
  const ratioRuns = ratios?.every(Number.isFinite) ? spread(name, ratios) : null;
  return {
    name,
    unit,
    ours: runs.median,
    peer: peerRuns?.median ?? null,
    ratio: ratioRuns?.median ?? null,
    ...judge(goal, runs.median, ratioRuns?.median ?? null),
    cores,
    caches,
    runs,
    peerRuns,
    ratioRuns,
  };
}

/** Whether a goal is met by these medians; null where there is nothing to judge. */
function judge(goal: Goal | undefined, ours: number, ratio: number | null): Pick<FigureLine, 'goal' | 'asks' | 'met'> {
  const bound = goal?.atMost ?? goal?.atLeast;
  if (goal === undefined || bound === undefined) return { goal: null, asks: null, met: null };
  const judged = goal.of === 'ratio' ? ratio : ours;
  const met = judged === null ? null : goal.atMost === undefined ? judged >= bound : judged <= bound;
  const what = goal.of === 'ratio' ? 'ratio' : 'ours';
  return { goal: bound, asks: `${what} ${goal.atMost === undefined ? '≥' : '≤'} ${bound}`, met };
}

function spread(name: string, values: readonly number[]): Spread {
  try {
    const { count, min, median, max } = spreadOf(values);
    return { count, min: round(min), median: round(median), max: round(max) };
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

/** Rounds to four digits: more than the runs of a benchmark agree on. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}
