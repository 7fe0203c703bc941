/** A block holds the samples of one aligned range of this length. Prometheus' smallest block has the same. Milliseconds. */
export const blockRangeMs = 7_200_000;

/** Start of the aligned range that holds `t`. */
export function rangeStart(t: number): number {
  return Math.floor(t / blockRangeMs) * blockRangeMs;
}

/** First time behind the aligned range that holds `t`. */
export function rangeEnd(t: number): number {
  return rangeStart(t) + blockRangeMs;
}
