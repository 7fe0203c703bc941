/** The number of table rows that fit into the window. Pure. */

/** Less than the height of any row, so that the first rows fill the window. Unit: px. */
const leastRowHeight = 32;

/** Rows that fill a window of this height. Unit: px. */
export function firstRows(height: number): number {
  return Math.max(10, Math.ceil(height / leastRowHeight));
}
