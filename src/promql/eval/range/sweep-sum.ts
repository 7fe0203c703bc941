import { isFloat } from '../columns.ts';
import { areLong, type Sweep, type SweepInput } from './sweep.ts';

/** Largest magnitude up to which every integer is a double. */
const exactLimit = Number.MAX_SAFE_INTEGER;

/**
 * Computes sum_over_time, or avg_over_time if `isMean`. Sums of integers are exact as long as they stay below 2^53, so
 * differences of prefix sums equal the compensated sum of each window; all other series are summed window by window.
 */
export function sumSweep(isMean: boolean): Sweep {
  return (input, out) => {
    const { values } = input;
    const { from, to } = input.grid;
    const prefix = exactPrefix(values);
    if (prefix === null && areLong(input.grid)) return false;
    const { kinds, values: results } = out;
    let points = 0;
    for (let step = 0; step < from.length; step++) {
      const low = from[step]!;
      const high = to[step]!;
      const count = high - low;
      if (count === 0) continue;
      let result: number;
      if (prefix !== null) {
        const sum = prefix[high]! - prefix[low]!;
        result = isMean ? sum / count : sum;
      } else result = isMean ? mean(input, low, high) : sum(input, low, high);
      kinds[step] = isFloat;
      results[step] = result;
      points++;
    }
    out.points += points;
    return true;
  };
}

/** Prefix sums of the current series; the buffer is reused for the next one. */
let sums = new Float64Array(1024);

function exactPrefix(values: Float64Array): Float64Array | null {
  if (sums.length <= values.length) sums = new Float64Array(values.length * 2);
  const prefix = sums;
  prefix[0] = 0;
  let total = 0;
  let magnitude = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    magnitude += Math.abs(value);
    // The first condition refuses fractions and NaN, the second infinities and sums that could exceed 2^53.
    if (value !== Math.floor(value) || !(magnitude <= exactLimit)) return null;
    total += value;
    prefix[i + 1] = total;
  }
  return prefix;
}

function sum({ values }: SweepInput, low: number, high: number): number {
  let total = 0;
  let compensation = 0;
  for (let i = low; i < high; i++) {
    const value = values[i]!;
    const next = total + value;
    if (next === Infinity || next === -Infinity) compensation = 0;
    else if (Math.abs(total) >= Math.abs(value)) compensation += total - next + value;
    else compensation += value - next + total;
    total = next;
  }
  return total === Infinity || total === -Infinity ? total : total + compensation;
}

function mean({ values }: SweepInput, low: number, high: number): number {
  let total = values[low]!;
  let compensation = 0;
  let running = false;
  let count = 1;
  for (let i = low + 1; i < high; i++) {
    count++;
    let value = values[i]!;
    let base = total;
    if (!running && Math.abs(total + value) === Infinity) {
      running = true;
      base = total / (count - 1);
      compensation /= count - 1;
    }
    if (running) {
      const share = (count - 1) / count;
      base *= share;
      compensation *= share;
      value /= count;
    }
    const next = base + value;
    if (Math.abs(next) === Infinity) compensation = 0;
    else if (Math.abs(base) >= Math.abs(value)) compensation += base - next + value;
    else compensation += value - next + base;
    total = next;
  }
  return running ? total + compensation : total / count + compensation / count;
}
