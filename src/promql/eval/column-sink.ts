import { dropMetadata } from '../labels.ts';
import type { Labels } from '../types.ts';
import type { Budget } from './budget.ts';
import { ColumnBuilder, weightOf, type Column } from './columns.ts';

/** What becomes of the metric's name in a column. */
export interface NameFate {
  /** It goes at once. */
  readonly strip: boolean;
  /** It is to go at the end (delayed name removal). */
  readonly drop: boolean;
}

export const nameStays: NameFate = { strip: false, drop: false };

/**
 * Takes the columns of an expression one after the other, so that an aggregation need not have all of them in memory.
 * Ask for a column with `next`, fill it, and hand it in with `take` if it holds anything.
 */
export interface ColumnSink {
  next(): ColumnBuilder;
  take(column: ColumnBuilder, labels: Labels, name: NameFate): void;
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

  take(column: ColumnBuilder, labels: Labels, { strip, drop }: NameFate): void {
    this.#spare = null;
    this.#budget.hold(weightOf(column));
    this.columns.push(column.build(strip ? dropMetadata(labels) : labels, drop));
  }
}
