import { referenceTime } from '../frame.ts';
import { extrapolationFactor } from './extrapolate.ts';
import type { Sweep } from './sweeps.ts';

/** rate, increase and delta. Counter resets are found once for the series, not once for each window. */
export function rateSweep(isCounter: boolean, isRate: boolean): Sweep {
  return ({ times, values, from, to, range, timing, frame }, out) => {
    const resets = isCounter ? countResets(values) : null;
    const seconds = range / 1000;
    const coverage = { first: 0, last: 0, count: 0, start: 0, end: 0, began: null, increase: 0, firstValue: 0 };
    const gauge = { ...coverage, increase: null };
    for (let step = 0; step < from.length; step++) {
      const low = from[step]!;
      const high = to[step]!;
      if (high - low < 2) continue;
      const firstValue = values[low]!;
      let difference = values[high - 1]! - firstValue;
      if (resets !== null && resets[high - 1] !== resets[low]) {
        for (let i = low + 1; i < high; i++) if (values[i]! < values[i - 1]!) difference += values[i - 1]!;
      }
      const about = isCounter ? coverage : gauge;
      about.first = times[low]!;
      about.last = times[high - 1]!;
      about.count = high - low;
      about.end = referenceTime(frame, timing, step);
      about.start = about.end - range;
      about.firstValue = firstValue;
      if (isCounter) coverage.increase = difference;
      const factor = extrapolationFactor(about);
      out.setFloat(step, difference * (isRate ? factor / seconds : factor));
    }
  };
}

/** How many resets happened up to each sample; null when there is none. */
function countResets(values: Float64Array): Int32Array | null {
  let resets: Int32Array | null = null;
  let count = 0;
  for (let i = 1; i < values.length; i++) {
    if (values[i]! < values[i - 1]!) {
      resets ??= new Int32Array(values.length);
      count++;
    }
    if (resets !== null) resets[i] = count;
  }
  return resets;
}
