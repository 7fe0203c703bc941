/**
 * Length of the range of time that a block covers, as long as in Prometheus' smallest block. Aligned ranges begin at
 * multiples of this length. Units: ms.
 */
export const blockRangeMs = 7_200_000;

/** Start of the aligned range that holds `t`. */
export function rangeStart(t: number): number {
  return Math.floor(t / blockRangeMs) * blockRangeMs;
}

/** First time after the aligned range that holds `t`. */
export function rangeEnd(t: number): number {
  return rangeStart(t) + blockRangeMs;
}
