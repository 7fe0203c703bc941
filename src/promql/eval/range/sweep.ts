import type { ColumnBuilder } from '../columns.ts';
import type { WindowGrid } from './window-grid.ts';

/** The values of one float series, and the windows over its times. */
export interface SweepInput {
  readonly values: Float64Array;
  readonly grid: WindowGrid;
}

/**
 * Computes all steps of one float series in one pass, sharing work between neighbouring windows. A sweep is only an
 * optimisation: its results equal, bit for bit, those of the function's window form, which computes each window by
 * itself. Returns false, with nothing computed, when the sweep would have to go through each window and the windows are
 * long. The window form then takes over, because it yields to other work between slices.
 */
export type Sweep = (sweep: SweepInput, out: ColumnBuilder) => boolean;

/** The largest number of samples, summed over all windows, that a sweep may go through one by one. */
const sweptAtOnce = 2_000_000;

/** True when the windows have more samples than a sweep may go through one by one. */
export function areLong({ from, to }: WindowGrid): boolean {
  let all = 0;
  for (let step = 0; step < from.length; step++) all += to[step]! - from[step]!;
  return all > sweptAtOnce;
}
