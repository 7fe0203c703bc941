import type { ColumnBuilder } from '../columns.ts';
import type { WindowGrid } from './window-grid.ts';

/** The values of one float series, and the windows laid over its times. */
export interface SweepInput {
  readonly values: Float64Array;
  readonly grid: WindowGrid;
}

/**
 * Computes all steps of one float series at once, using what neighbouring windows share. Gives exactly the numbers of
 * the function's window form, bit for bit: it is a matter of speed only. False, with nothing computed, where it would
 * have to go through each window after all and these are long: the window form gives other work its turns.
 */
export type Sweep = (sweep: SweepInput, out: ColumnBuilder) => boolean;

/** Samples of all windows together that a sweep goes through. */
const sweptAtOnce = 2_000_000;

/** True where the windows hold more samples than a sweep may go through one by one. */
export function areLong({ from, to }: WindowGrid): boolean {
  let all = 0;
  for (let step = 0; step < from.length; step++) all += to[step]! - from[step]!;
  return all > sweptAtOnce;
}
