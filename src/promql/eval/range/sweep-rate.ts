import { areLong, type Sweep } from './sweep.ts';

/** A factor that outweighs the rounding errors when two products are compared. */
const margin = 1 + 1e-9;
const smallest = 1e-290;

/** Computes rate, increase or delta. The counter resets of a series are found once, not once for each window. */
export function rateSweep(isCounter: boolean, isRate: boolean): Sweep {
  return ({ values, grid }, out) => {
    const resets = isCounter ? countResets(values) : null;
    const seconds = grid.range / 1000;
    if (resets !== null && areLong(grid)) return false;
    const { from, to } = grid;
    const { interval, toStart, toEnd, factor, perSecond } = grid.spans;
    const factors = isRate ? perSecond : factor;
    const { kinds, values: results } = out;
    let points = 0;
    for (let step = 0; step < from.length; step++) {
      const low = from[step]!;
      const high = to[step]!;
      if (high - low < 2) continue;
      const first = values[low]!;
      let difference = values[high - 1]! - first;
      if (resets !== null && resets[high - 1] !== resets[low]) {
        for (let i = low + 1; i < high; i++) if (values[i]! < values[i - 1]!) difference += values[i - 1]!;
      }
      let stretch = factors[step]!;
      if (isCounter && difference > 0 && first >= 0) {
        const span = interval[step]!;
        const before = toStart[step]!;
        // A counter is not extrapolated beyond the point where it was zero. Most counters are far from that point,
        // which this test shows without a division.
        if (!(first * span > before * difference * margin + smallest)) {
          const toZero = span * (first / difference);
          if (toZero < before) {
            stretch = (span + toZero + toEnd[step]!) / span;
            if (isRate) stretch /= seconds;
          }
        }
      }
      kinds[step] = 1;
      results[step] = difference * stretch;
      points++;
    }
    out.points += points;
    return true;
  };
}

/** The number of resets up to each sample; null when there is none. */
function countResets(values: Float64Array): Int32Array | null {
  let i = 1;
  while (i < values.length && !(values[i]! < values[i - 1]!)) i++;
  if (i >= values.length) return null;
  const resets = new Int32Array(values.length);
  let count = 0;
  for (; i < values.length; i++) {
    if (values[i]! < values[i - 1]!) count++;
    resets[i] = count;
  }
  return resets;
}
