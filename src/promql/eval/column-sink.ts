import { dropMetadata } from '../labels.ts';
import type { Labels } from '../types.ts';
import type { Budget } from './budget.ts';
import { ColumnBuilder, weightOf, type Column } from './columns.ts';

/** How a column treats the metric's name. */
export interface NameFate {
  /** The name is removed immediately. */
  readonly strip: boolean;
  /** The name is removed from the final answer (delayed name removal). */
  readonly drop: boolean;
}

export const nameStays: NameFate = { strip: false, drop: false };

/**
 * Receives the columns of an expression, each with the values of one series at all steps, one after the other, so that
 * an aggregation need not hold all of them in memory.
 * Get a column from `next`, fill it, and pass it to `take` if it is not empty.
 */
export interface ColumnSink {
  next(): ColumnBuilder;
  /** Returns a promise when it takes long: await it before `next`. */
  take(column: ColumnBuilder, labels: Labels, name: NameFate): Promise<void> | null;
}

/** Keeps all columns. */
export class ColumnList implements ColumnSink {
  readonly columns: Column[] = [];
  readonly #budget: Budget;
  readonly #steps: number;
  #spare: ColumnBuilder | null = null;

  constructor(budget: Budget, steps: number) {
    this.#budget = budget;
    this.#steps = steps;
  }

  next(): ColumnBuilder {
    return (this.#spare ??= new ColumnBuilder(this.#steps));
  }

  take(column: ColumnBuilder, labels: Labels, { strip, drop }: NameFate): null {
    this.#spare = null;
    this.#budget.hold(weightOf(column));
    this.columns.push(column.build(strip ? dropMetadata(labels) : labels, drop));
    return null;
  }
}
