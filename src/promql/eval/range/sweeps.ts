import type { ColumnBuilder } from '../columns.ts';
import type { Frame } from '../frame.ts';
import type { RangeInput } from './range-call.ts';

/** One float series and the index range of every step's window. */
export interface SweepInput {
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly input: RangeInput;
  readonly frame: Frame;
}

/** Computes all steps of one float series at once; must give exactly what the window function gives. */
export type Sweep = (sweep: SweepInput, out: ColumnBuilder) => void;

/** The fast path of a function, or null. */
export function sweepFor(_name: string): Sweep | null {
  return null;
}
