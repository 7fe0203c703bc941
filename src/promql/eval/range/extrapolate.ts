/**
 * A first or last sample that is farther from the range's bound than this many average intervals counts as the start or
 * end of the series.
 */
export const closeness = 1.1;

/** The inputs of extrapolation. Units: milliseconds. */
export interface Coverage {
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly start: number;
  readonly end: number;
  /** The counter's start time, if it lies inside the range. */
  readonly began: number | null;
  /**
   * The increase (of a histogram: of its count), null for gauges. It tells how far back a counter can be extrapolated
   * until it would be zero.
   */
  readonly increase: number | null;
  readonly firstValue: number;
}

/**
 * The factor that extrapolates the difference over the samples to the whole range.
 * On each side, the covered interval is extended to the bound of the range when a sample is close to that bound, else
 * by half an average interval. A counter is never extended beyond the point where it would have been zero.
 */
export function extrapolationFactor(coverage: Coverage): number {
  const { first, last, count, start, end, began, increase, firstValue } = coverage;
  const spacing = count > 1 ? (last - first) / 1000 / (count - 1) : 0;
  const threshold = spacing * closeness;
  let interval = (last - first) / 1000;
  let toStart = (first - start) / 1000;
  if (began !== null) {
    toStart = 0;
    interval = (last - began) / 1000;
  } else {
    if (toStart >= threshold) toStart = spacing / 2;
    if (increase !== null && increase > 0 && firstValue >= 0) {
      const toZero = interval * (firstValue / increase);
      if (toZero < toStart) toStart = toZero;
    }
  }
  let toEnd = (end - last) / 1000;
  if (toEnd >= threshold) toEnd = spacing / 2;
  return interval === 0 ? 1 : (interval + toStart + toEnd) / interval;
}
