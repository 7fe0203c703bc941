import type { Sweep } from './sweep.ts';
import { extremeSweep } from './sweep-extreme.ts';
import { rateSweep } from './sweep-rate.ts';
import { sumSweep } from './sweep-sum.ts';

const countSweep: Sweep = ({ grid: { from, to } }, out) => {
  for (let step = 0; step < from.length; step++) {
    const count = to[step]! - from[step]!;
    if (count > 0) out.setFloat(step, count);
  }
  return true;
};

const sweeps: ReadonlyMap<string, Sweep> = new Map([
  ['avg_over_time', sumSweep(true)],
  ['count_over_time', countSweep],
  ['delta', rateSweep(false, false)],
  ['increase', rateSweep(true, false)],
  ['max_over_time', extremeSweep(true)],
  ['min_over_time', extremeSweep(false)],
  ['rate', rateSweep(true, true)],
  ['sum_over_time', sumSweep(false)],
]);

/** The sweep of a function: it computes all windows of a series in one pass. Null for a function without a sweep. */
export function sweepFor(name: string): Sweep | null {
  return sweeps.get(name) ?? null;
}
