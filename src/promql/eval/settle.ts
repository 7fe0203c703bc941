import { leastWeight, mergeDuplicates, type Column, type ColumnBuilder } from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import { NewHistograms } from './histogram-work.ts';
import type { Labels } from '../types.ts';

/**
 * Joins series with equal labels, as Prometheus does at each step. The answer of an instant query with delayed name
 * removal may keep them apart.
 */
export async function settle(context: EvalContext, columns: Column[], frame: Frame): Promise<Column[]> {
  return context.settings.delayedNameRemoval && frame.count === 1 ? columns : mergeDuplicates(context.budget, columns);
}

/**
 * The series of a result, as they are computed. Their least memory is taken from the budget until `settled` gives it
 * back; then the caller charges what there is.
 */
export class Results {
  readonly #context: EvalContext;
  readonly #frame: Frame;
  readonly #columns: Column[] = [];
  readonly #histograms: NewHistograms;

  constructor(context: EvalContext, frame: Frame) {
    this.#context = context;
    this.#frame = frame;
    this.#histograms = new NewHistograms(context.budget);
  }

  /** Sets a step of a series that is to be added, and takes the memory of the histogram at once. */
  setHistogram(builder: ColumnBuilder, step: number, histogram: FloatHistogram): void {
    this.#histograms.set(builder, step, histogram);
  }

  /** Adds a series, unless it is empty. */
  add(builder: ColumnBuilder, labels: Labels, dropName: boolean): void {
    if (builder.points === 0) return;
    this.#context.budget.hold(leastWeight(1, this.#frame.count));
    this.#columns.push(builder.build(labels, dropName));
  }

  /** All series; those with equal labels are joined as by `settle`. */
  async settled(): Promise<Column[]> {
    const columns = await settle(this.#context, this.#columns, this.#frame);
    this.#context.budget.release(leastWeight(this.#columns.length, this.#frame.count));
    this.#histograms.release();
    return columns;
  }
}
