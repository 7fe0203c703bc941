import type { Memory } from '../../base/memory-pool.ts';
import { inTurns, turns, type TurnTaking } from '../../base/turns/turns.ts';
import { QueryError } from '../errors.ts';
import { Budget } from '../eval/budget.ts';
import { candidates } from '../eval/aggregate/candidates.ts';
import { countValues } from '../eval/aggregate/count-values.ts';
import { holdColumns, inLabelOrder, isFloat, isHistogram, releaseColumns, type Column } from '../eval/columns.ts';
import { positionOf, type EvalContext } from '../eval/context.ts';
import { refuseTooManySteps } from '../eval/run/estimate.ts';
import { foldExpression } from '../eval/aggregate/fold-expression.ts';
import { isFoldOperator, rowsOf, type GroupRow } from '../eval/aggregate/group-rows.ts';
import { resolve } from '../eval/resolve.ts';
import { openRun } from '../eval/run/run.ts';
import { countedFrame } from '../eval/sample-counts.ts';
import { typeOf, type AggregateExpr, type Expr } from '../parser/ast.ts';
import type { SeriesSource } from '../types.ts';
import type { FragmentRequest, FragmentResult, FragmentSettings, Steps } from './fragment.ts';
import { packRows } from './packed-rows.ts';
import { parseFragment } from './parse-fragment.ts';

/** The limits of one fragment's evaluation; see EngineOptions and QueryOptions for each. */
export interface FragmentOptions {
  readonly settings: FragmentSettings;
  readonly maxSamples: number;
  readonly timeoutMs?: number;
  readonly monotonic?: () => number;
  readonly signal?: AbortSignal;
  readonly turns?: TurnTaking;
  /**
   * Memory shared with other work. The answer's memory stays taken until the caller releases it. Default: `maxSamples`
   * is the only limit.
   */
  readonly memory?: Memory;
}

/**
 * Computes one node's share of a query over the node's own series.
 * Errors: QueryError as from an engine; bad_data for a request that no plan creates.
 */
export async function evaluateFragment(
  request: FragmentRequest,
  source: SeriesSource,
  steps: Steps,
  options: FragmentOptions,
): Promise<FragmentResult> {
  const { settings, signal, maxSamples, timeoutMs = 0, monotonic, memory } = options;
  const budget = new Budget({ maxSamples, memory, timeoutMs, monotonic, signal, turns: options.turns ?? turns });
  const span = { start: steps.start, end: steps.start + (steps.count - 1) * steps.step, step: steps.step };
  const expr = resolve(parseFragment(request.expr), span, request.expr, () => refuse('a subquery has no step'));
  refuseTooManySteps(expr, steps, maxSamples);
  const frame = countedFrame(steps, budget, request.countSamples === true);
  const { context, annotations } = openRun({
    expr,
    frame,
    settings,
    budget,
    source,
    signal,
    distribution: null,
    isShare: request.kind !== 'whole',
  });
  const answer = await compute(context, request, expr, frame);
  return {
    ...answer,
    annotations: annotations.export(),
    warnings: annotations.foreign,
    omittedWarnings: annotations.omittedWarnings,
    omittedInfos: annotations.omittedInfos,
    samplesRead: budget.read,
    seriesRead: budget.series,
    samples: frame.samples,
  };
}

/** The aggregation around the fragment's text. Its position is −1, because it does not occur in the text. */
const aggregation = { kind: 'aggregate', param: null, start: -1, end: -1 } as const;

async function compute(
  context: EvalContext,
  request: FragmentRequest,
  expr: Expr,
  steps: Steps,
): Promise<Pick<FragmentResult, 'columns' | 'groups'>> {
  const { kind, op, grouping, without, packed } = request;
  if (typeOf(expr) !== 'instant vector') return refuse('its value is not an instant vector');
  if (kind === 'agg' && op !== null && isFoldOperator(op)) {
    const groups = await foldExpression(context, { op, grouping, without }, expr, steps);
    const rows = await inTurns(context.budget, rowsOf(groups));
    return {
      columns: [],
      groups: packed === undefined ? rows : await packRows(context.budget, rows, packed, steps.count),
    };
  }
  const value = await context.evaluate(expr, steps);
  if (value.kind !== 'vector') return refuse('its value is not an instant vector');
  return reduce(context, request, { ...aggregation, expr }, value.columns, steps);
}

async function reduce(
  context: EvalContext,
  request: FragmentRequest,
  outer: Pick<AggregateExpr, 'kind' | 'param' | 'start' | 'end' | 'expr'>,
  columns: Column[],
  steps: Steps,
): Promise<Pick<FragmentResult, 'columns' | 'groups'>> {
  const { kind, op, grouping, without, param } = request;
  if (kind === 'whole') return { columns, groups: [] };
  const { budget } = context;
  if (kind === 'series') return { columns: [...(await inLabelOrder(budget, columns))], groups: [] };
  if (op === null) return refuse('an aggregation needs an operator');
  const node: AggregateExpr = { ...outer, op, grouping, without };
  if (op === 'count_values' && typeof param === 'string') {
    const counted = await countValues(context, node, param, columns, steps);
    await holdColumns(budget, counted);
    await releaseColumns(budget, columns);
    return { columns: [], groups: counted.map(countRow) };
  }
  if ((op === 'topk' || op === 'bottomk' || op === 'limitk') && typeof param === 'number') {
    if (op !== 'limitk' && param >= 1 && columns.some(({ kinds }) => kinds.includes(isHistogram))) {
      context.annotations.info(`ignored histogram in ${op} aggregation`, positionOf(node));
    }
    const by = { op, grouping, without, k: Math.trunc(param) };
    const chosen = await candidates(budget, by, await inLabelOrder(budget, columns), steps.count);
    await holdColumns(budget, chosen);
    await releaseColumns(budget, columns);
    return { columns: chosen, groups: [] };
  }
  return refuse(`${op} has no partial state`);
}

function countRow({ labels, kinds, values }: Column): GroupRow {
  const present = values.map((value, i) => (kinds[i] === isFloat ? value : 0));
  return { labels, dropName: false, present, best: null, sums: null, holders: [], ignored: false };
}

function refuse(reason: string): never {
  throw new QueryError('bad_data', `fragment cannot be evaluated: ${reason}`);
}
