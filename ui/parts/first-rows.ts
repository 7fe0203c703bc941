/** The number of table rows that fill the window. Pure. */

/** Every row is at least this high. Unit: px. */
const leastRowHeight = 32;

/** How many rows surely fill a window of this height. Unit of `height`: px. */
export function firstRows(height: number): number {
  return Math.max(10, Math.ceil(height / leastRowHeight));
}
