import { executionError } from '../errors.ts';
import { filterLabels, noLabels, partialKey } from '../labels.ts';
import type { AggregateExpr } from '../parser/ast.ts';
import type { Labels } from '../types.ts';
import { countValues } from './aggregate-count-values.ts';
import { pickSeries } from './aggregate-pick.ts';
import { quantileAggregate } from './aggregate-quantile.ts';
import { foldGroups } from './aggregate-fold.ts';
import { countPoints, type Column } from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';

/** Which output group each input column belongs to, in order of first appearance. */
export interface Grouping {
  readonly groupOf: Int32Array;
  readonly labels: readonly Labels[];
}

/** Assigns columns to groups. */
export function groupColumns(columns: readonly Column[], names: readonly string[], without: boolean): Grouping {
  const set = new Set(without ? [...names, '__name__'] : names);
  const keep = without ? (name: string): boolean => !set.has(name) : (name: string): boolean => set.has(name);
  const groupOf = new Int32Array(columns.length);
  const labels: Labels[] = [];
  const known = new Map<string, number>();
  columns.forEach((column, i) => {
    const key = !without && names.length === 0 ? '' : partialKey(column.labels, keep);
    let group = known.get(key);
    if (group === undefined) {
      group = labels.length;
      known.set(key, group);
      labels.push(key === '' ? noLabels : filterLabels(column.labels, keep));
    }
    groupOf[i] = group;
  });
  return { groupOf, labels };
}

/** An aggregation over a frame. */
export async function evaluateAggregate(context: EvalContext, expr: AggregateExpr, frame: Frame): Promise<Column[]> {
  const { budget } = context;
  const param = expr.param === null ? null : await context.evaluate(expr.param, frame);
  const inner = await context.evaluate(expr.expr, frame);
  if (inner.kind !== 'vector') throw executionError('aggregation of something that is not an instant vector');
  const columns = inner.columns;
  const scalar = param?.kind === 'scalar' ? param.values : null;
  let result: Column[];
  switch (expr.op) {
    case 'count_values':
      result = countValues(expr, param?.kind === 'string' ? param.text : '', columns, frame);
      break;
    case 'topk':
    case 'bottomk':
    case 'limitk':
    case 'limit_ratio':
      result = pickSeries(context, expr, scalar!, columns, frame);
      break;
    case 'quantile':
      result = quantileAggregate(context, expr, scalar!, columns, frame);
      break;
    default:
      result = await foldGroups(context, expr, columns, frame);
  }
  for (const column of columns) budget.release(countPoints(column));
  for (const column of result) budget.hold(countPoints(column));
  if (budget.spend(columns.length * frame.count)) await budget.turn();
  return result;
}
