/** A vertical scale: its ends, and the values that get a label. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
}

/** Smaller numbers count as zero: ticks between them cannot be distinguished. */
const smallest = 1e-300;

/**
 * A scale that holds all values, with about `count` ticks at round numbers. For positive values it begins at zero
 * unless that would squeeze them together. Pure.
 */
export function scaleOf(values: readonly number[], count: number): Scale {
  let min = Infinity;
  let max = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min > max) [min, max] = [0, 1];
  if (min > 0 && min < max * 0.7) min = 0;
  const size = Math.max(Math.abs(min), Math.abs(max));
  if (size < smallest) [min, max] = [0, 1];
  // A range too small to draw is widened.
  else if (max - min < size * 1e-9) [min, max] = [min - size / 10, max + size / 10];
  const step = niceUp((max - min) / Math.max(1, count - 1));
  const from = Math.floor(min / step + 1e-9);
  const to = Math.ceil(max / step - 1e-9);
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => (from + i) * step);
  return { min: from * step, max: to * step, ticks };
}

/** The smallest of …, 0.5, 1, 2, 5, 10, 20, … that is not below the value. */
function niceUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 5, 10].find((n) => n * power >= value * (1 - 1e-9)) ?? 10;
  return found * power;
}

const prefixes: readonly [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** A number in few characters: `0.25`, `1.5k`, `2e-7`. Pure. */
export function shortNumber(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return String(Number(value.toExponential(digits - 1)));
  const [unit, prefix] = prefixes.find(([from]) => size >= from) ?? [1, ''];
  return `${Number((value / unit).toPrecision(digits))}${prefix}`;
}
