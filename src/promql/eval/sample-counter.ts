import type { SampleCounts } from '../types.ts';
import { absent } from './columns.ts';

/** Counts the samples that an evaluation uses at each of its steps, for the `stats` of the query's answer. */
export class SampleCounter implements SampleCounts {
  readonly queryable: Float64Array;
  readonly read: Float64Array;

  constructor(steps: number) {
    this.queryable = new Float64Array(steps);
    this.read = new Float64Array(steps);
  }

  /** Adds the counts of a node for the same steps. */
  add({ queryable, read }: SampleCounts): void {
    for (let step = 0; step < queryable.length; step++) {
      this.queryable[step]! += queryable[step]!;
      this.read[step]! += read[step]!;
    }
  }

  /**
   * Adds the counts of a part of the query that is evaluated once for all steps: its samples are queryable at each step
   * and read at the first.
   */
  addInvariant({ queryable, read }: SampleCounts): void {
    for (let step = 0; step < this.queryable.length; step++) this.queryable[step]! += queryable[0]!;
    this.read[0]! += read[0]!;
  }

  /** Adds a series of an instant selector: one sample for each step at which the series has one. */
  addColumn(kinds: Uint8Array): void {
    for (let step = 0; step < kinds.length; step++) {
      if (kinds[step] === absent) continue;
      this.queryable[step]!++;
      this.read[step]!++;
    }
  }
}
