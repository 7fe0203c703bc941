import { executionError } from '../../errors.ts';
import { dropMetadata } from '../../labels.ts';
import type { Expr } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import type { Budget } from '../budget.ts';
import type { ColumnSink, NameFate } from '../column-sink.ts';
import { ColumnBuilder, type Value } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { GroupFold, foldColumns, type FoldOperator } from './group-rows.ts';
import { Grouper, type GroupBy } from './grouping.ts';
import { streamExpression } from '../select/stream-expression.ts';

/** An aggregation whose partial states can be merged. */
export interface Folding extends GroupBy {
  readonly op: FoldOperator;
}

/**
 * Evaluates an expression and folds its columns into groups. A selector, or a function of one, is folded series by
 * series: its columns are never in memory together. The groups are those of `foldColumns`, in the same order.
 */
export async function foldExpression(
  context: EvalContext,
  by: Folding,
  expr: Expr,
  frame: Frame,
): Promise<GroupFold[]> {
  if ((expr.kind === 'vector' || expr.kind === 'call') && !(frame.count > 1 && context.invariant.has(expr))) {
    const computing = context.distributed(expr, frame);
    const computed = computing === null ? null : await computing;
    if (computed !== null) return foldValue(context, by, { kind: 'vector', columns: computed }, frame);
    const sink = new FoldingSink(by, context.budget, frame.count);
    if (await streamExpression(context, expr, frame, sink)) return sink.groups;
  }
  return foldValue(context, by, await context.evaluate(expr, frame), frame);
}

async function foldValue(context: EvalContext, by: Folding, value: Value, frame: Frame): Promise<GroupFold[]> {
  if (value.kind !== 'vector') throw executionError('aggregation of something that is not an instant vector');
  return foldColumns(context, by, value.columns, frame);
}

/** Folds each column as it is computed; all columns share one buffer. */
class FoldingSink implements ColumnSink {
  readonly groups: GroupFold[] = [];
  readonly #by: Folding;
  readonly #budget: Budget;
  readonly #scratch: ColumnBuilder;
  #grouper: Grouper | null = null;

  constructor(by: Folding, budget: Budget, steps: number) {
    this.#by = by;
    this.#budget = budget;
    this.#scratch = new ColumnBuilder(steps);
  }

  next(): ColumnBuilder {
    this.#scratch.clear();
    return this.#scratch;
  }

  take(column: ColumnBuilder, labels: Labels, { strip, drop }: NameFate): Promise<void> | null {
    this.#grouper ??= new Grouper(this.#by, strip);
    const index = this.#grouper.indexOf(labels);
    if (index === this.groups.length) {
      const group = new GroupFold(this.#by.op, this.#grouper.labels[index]!, column.kinds.length);
      this.#budget.hold(group.weight);
      this.groups.push(group);
    }
    // A group keeps the labels of histograms alone, which are later combined in the order of these labels.
    const own = strip && column.histograms !== null ? dropMetadata(labels) : labels;
    const kept = this.groups[index]!.add(this.#budget, column.build(own, drop));
    const isDue = this.#budget.spend(this.#grouper.workOf(labels));
    if (typeof kept !== 'number') {
      return kept.then(async (samples) => {
        this.#budget.hold(samples);
        if (isDue) await this.#budget.turn();
      });
    }
    if (kept > 0) this.#budget.hold(kept);
    return isDue ? this.#budget.turn() : null;
  }
}
