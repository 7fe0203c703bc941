import type { ColumnBuilder } from '../columns.ts';
import { referenceTime, type Frame, type Timing } from '../frame.ts';
import { extremeSweep } from './sweep-extreme.ts';
import { rateSweep } from './sweep-rate.ts';
import { sumSweep } from './sweep-sum.ts';

/** One float series and the index range of every step's window. Units: milliseconds. */
export interface SweepInput {
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly range: number;
  readonly timing: Timing;
  readonly frame: Frame;
}

/**
 * Computes all steps of one float series at once, using what neighbouring windows share. Gives exactly the numbers of
 * the function's window form, bit for bit: it is a matter of speed only.
 */
export type Sweep = (sweep: SweepInput, out: ColumnBuilder) => void;

const countSweep: Sweep = ({ from, to }, out) => {
  for (let step = 0; step < from.length; step++) {
    const count = to[step]! - from[step]!;
    if (count > 0) out.setFloat(step, count);
  }
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

/** The fast form of a function, or null where there is only the window form. */
export function sweepFor(name: string): Sweep | null {
  return sweeps.get(name) ?? null;
}

/** The samples of (start, end] of each step as index ranges into rising times. */
export function windowBounds(
  times: Float64Array,
  range: number,
  timing: Timing,
  frame: Frame,
  from: Int32Array,
  to: Int32Array,
): void {
  let low = 0;
  let high = 0;
  for (let step = 0; step < frame.count; step++) {
    const end = referenceTime(frame, timing, step);
    while (high < times.length && times[high]! <= end) high++;
    while (low < high && times[low]! <= end - range) low++;
    from[step] = low;
    to[step] = high;
  }
}
