import { dropMetadata } from '../../labels.ts';
import type { Expr } from '../../parser/ast.ts';
import type { Labels, QueryValue, VectorElement } from '../../types.ts';
import type { Budget } from '../budget.ts';
import type { ColumnSink, NameFate } from '../column-sink.ts';
import {
  ColumnBuilder,
  inLabelOrder,
  isFloat,
  isHistogram,
  removeDelayedNames,
  weightOf,
  type Column,
} from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { keepsOrder } from '../order.ts';
import { streamExpression } from './stream-expression.ts';

/** The value of an expression that is not a range, at the only step of a frame. */
export async function instantValue(context: EvalContext, expr: Expr, frame: Frame): Promise<QueryValue> {
  const timestamp = frame.start;
  if ((expr.kind === 'vector' || expr.kind === 'call') && !context.settings.delayedNameRemoval) {
    const computing = context.distributed(expr, frame);
    const computed = computing === null ? null : await computing;
    if (computed !== null) return { type: 'vector', elements: await elementsOf(context, expr, computed, timestamp) };
    const sink = new ElementSink(context.budget, timestamp);
    if (await streamExpression(context, expr, frame, sink)) {
      const elements = await context.stopwatch.sorting(() => inLabelOrder(context.budget, sink.elements));
      return { type: 'vector', elements };
    }
  }
  const value = await context.evaluate(expr, frame);
  if (value.kind === 'scalar') return { type: 'scalar', timestamp, value: value.values[0]! };
  if (value.kind === 'string') return { type: 'string', timestamp, value: value.text };
  return { type: 'vector', elements: await elementsOf(context, expr, value.columns, timestamp) };
}

async function elementsOf(
  context: EvalContext,
  expr: Expr,
  columns: Column[],
  timestamp: number,
): Promise<VectorElement[]> {
  const { budget } = context;
  const elements: VectorElement[] = [];
  const found = context.settings.delayedNameRemoval ? await removeDelayedNames(budget, columns) : columns;
  const ordered = keepsOrder(expr) ? found : await context.stopwatch.sorting(() => inLabelOrder(budget, found));
  for (const { labels, kinds, values, histograms } of ordered) {
    if (kinds[0] === isFloat) elements.push({ labels, timestamp, value: values[0]! });
    else if (kinds[0] === isHistogram) elements.push({ labels, timestamp, value: NaN, histogram: histograms![0]! });
    if (budget.spend(10)) await budget.turn();
  }
  return elements;
}

/** Receives columns of one step, which are all computed in the same buffers, and makes an element of each. */
class ElementSink implements ColumnSink {
  readonly elements: VectorElement[] = [];
  readonly #budget: Budget;
  readonly #timestamp: number;
  readonly #scratch = new ColumnBuilder(1);

  constructor(budget: Budget, timestamp: number) {
    this.#budget = budget;
    this.#timestamp = timestamp;
  }

  next(): ColumnBuilder {
    this.#scratch.clear();
    return this.#scratch;
  }

  take({ kinds, values, histograms }: ColumnBuilder, from: Labels, { strip }: NameFate): null {
    this.#budget.hold(weightOf({ kinds, histograms }));
    const timestamp = this.#timestamp;
    const labels = strip ? dropMetadata(from) : from;
    if (kinds[0] === isFloat) this.elements.push({ labels, timestamp, value: values[0]! });
    else this.elements.push({ labels, timestamp, value: NaN, histogram: histograms![0]! });
    return null;
  }
}
