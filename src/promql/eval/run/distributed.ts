import { QueryError, type Position } from '../../errors.ts';
import { childrenOf, type AggregateExpr, type Expr, type VectorSelector } from '../../parser/ast.ts';
import type { Distribution, FragmentResult } from '../../plan/fragment.ts';
import { isUndecided, mergePartials } from '../../plan/merge-partials.ts';
import { planQuery, positionsOf, seriesFragment, type Fragment } from '../../plan/plan.ts';
import type { SelectRequest } from '../../types.ts';
import { aggregateColumns } from '../aggregate/aggregate.ts';
import { finishGroups } from '../aggregate/fold.ts';
import { holdColumns, type Column } from '../columns.ts';
import type { EvalContext, EvalSettings } from '../context.ts';
import { subqueryFrame, type Frame } from '../frame.ts';
import { GroupFold, isFoldOperator } from '../aggregate/group-rows.ts';
import { milliseconds, timingOf } from '../resolve.ts';

interface Part {
  readonly fragment: Fragment;
  readonly results: Promise<readonly FragmentResult[] | null>;
}

interface Query {
  readonly expr: Expr;
  readonly frame: Frame;
  readonly settings: EvalSettings;
  readonly signal: AbortSignal | undefined;
  readonly invariant: ReadonlySet<Expr>;
  /** The requests of the query's selectors. */
  readonly requests: readonly SelectRequest[];
}

/**
 * The fragments of one query: the parts that nodes compute. All are requested by the constructor; during evaluation,
 * the answers replace their subtrees.
 */
export class DistributedParts {
  readonly #distribution: Distribution;
  readonly #query: Query;
  readonly #parts = new Map<Expr, Part>();
  readonly #covered = new Set<VectorSelector>();

  constructor(distribution: Distribution, query: Query) {
    this.#distribution = distribution;
    this.#query = query;
    const { partitionLabel, aggregates = true } = distribution;
    const together = distribution.together?.(query.requests) ?? false;
    const plan = planQuery(query.expr, { partitionLabel, aggregates, together });
    const fragments = new Map(plan.fragments.map((fragment) => [fragment.node, fragment]));
    this.#start(query.expr, query.frame, fragments);
  }

  /** True for a selector inside a fragment. */
  covers(selector: VectorSelector): boolean {
    return this.#covered.has(selector);
  }

  /** True for the subtree of a fragment. */
  isPart(expr: Expr): boolean {
    return this.#parts.has(expr);
  }

  /** The columns of a subtree. Null when it is not a fragment; a promise of null when it has to be evaluated here. */
  columns(context: EvalContext, expr: Expr, frame: Frame): Promise<Column[] | null> | null {
    const part = this.#parts.get(expr);
    return part === undefined ? null : this.#columnsOf(part, context, frame);
  }

  async #columnsOf({ fragment, results: asked }: Part, context: EvalContext, frame: Frame): Promise<Column[] | null> {
    const results = await context.stopwatch.waiting(answered(asked));
    if (results === null) return null;
    const columns =
      fragment.kind === 'agg'
        ? await this.#aggregate(context, fragment, results, frame)
        : (await take(context, fragment, results, frame)).columns;
    if (columns === null) return null;
    await holdColumns(context.budget, columns);
    return [...columns];
  }

  async #aggregate(
    context: EvalContext,
    fragment: Fragment,
    results: readonly FragmentResult[],
    frame: Frame,
  ): Promise<readonly Column[] | null> {
    const node = fragment.node as AggregateExpr;
    const { op } = node;
    if (isFoldOperator(op) || op === 'count_values') {
      const { groups } = await take(context, fragment, results, frame);
      const fold = isFoldOperator(op) ? op : 'count';
      const merged: GroupFold[] = [];
      for (const row of groups) {
        merged.push(new GroupFold(fold, row.labels, row));
        if (context.budget.spend(frame.count)) await context.budget.turn();
      }
      return finishGroups(context, { ...node, op: fold }, merged, frame);
    }
    const param = { kind: 'scalar', values: new Float64Array(frame.count).fill(fragment.param as number) } as const;
    const { budget } = context;
    if (!(await isUndecided(budget, fragment, await mergePartials(budget, fragment, results), frame))) {
      const { columns } = await take(context, fragment, results, frame);
      return aggregateColumns(context, node, param, columns, frame);
    }
    // Which of equal series are chosen depends on all series before them, so the nodes' series are needed after all.
    const whole = seriesFragment(node.expr, [])!;
    const series = await context.stopwatch.waiting(answered(this.#ask(whole, frame)));
    if (series === null) return null;
    return aggregateColumns(context, node, param, (await take(context, whole, series, frame)).columns, frame);
  }

  #start(expr: Expr, frame: Frame, fragments: ReadonlyMap<Expr, Fragment>): void {
    const at =
      frame.count > 1 && this.#query.invariant.has(expr) ? { start: frame.start, step: frame.step, count: 1 } : frame;
    if (at.count === 0) return;
    const fragment = fragments.get(expr);
    if (fragment !== undefined) {
      const results = this.#ask(fragment, at);
      results.catch(() => undefined);
      this.#parts.set(expr, { fragment, results });
      collectSelectors(expr, this.#covered);
      return;
    }
    const inner =
      expr.kind === 'subquery'
        ? subqueryFrame(at, timingOf(expr), milliseconds(expr.range), milliseconds(expr.step!))
        : at;
    for (const child of childrenOf(expr)) this.#start(child, inner, fragments);
  }

  #ask(fragment: Fragment, frame: Frame): Promise<readonly FragmentResult[] | null> {
    const { kind, expr, op, grouping, without, param } = fragment;
    const { settings, signal } = this.#query;
    const countSamples = this.#query.frame.samples !== undefined;
    const request = { kind, expr, op, grouping, without, param, countSamples };
    return this.#distribution.run(request, frame, settings, signal);
  }
}

/** The nodes' answers; null when a node failed with an error that does not imply an error of the whole query. */
async function answered(results: Promise<readonly FragmentResult[] | null>): Promise<readonly FragmentResult[] | null> {
  try {
    return await results;
  } catch (error) {
    // Whether the whole query fails in this way can depend on the series of other nodes.
    const isLimit =
      error instanceof QueryError && (error.code === 'ERR_QUERY_LIMIT' || error.code === 'ERR_QUERY_MEMORY');
    if (error instanceof QueryError && error.errorType === 'execution' && !isLimit) return null;
    throw error;
  }
}

/** Merges the answers. Adds their annotations at the positions in the query, and their sample counts to the frame. */
async function take(
  context: EvalContext,
  fragment: Fragment,
  results: readonly FragmentResult[],
  frame: Frame,
): Promise<FragmentResult> {
  const merged = await mergePartials(context.budget, fragment, results);
  context.budget.read += merged.samplesRead;
  context.budget.touch(merged.seriesRead);
  if (merged.samples !== undefined) frame.samples?.add(merged.samples);
  for (const warning of merged.warnings) context.annotations.sourceWarning(warning);
  if (merged.annotations.length === 0) return merged;
  const places = positionsOf(fragment);
  const placed = merged.annotations.map((annotation) => {
    const { start, end } = annotation.position;
    const place = places.get(`${start} ${end}`);
    const position: Position = place?.node ?? fragment.node;
    return { annotation, position, order: place?.order ?? places.size };
  });
  // The same message raised at two positions is shown at the position that is evaluated last.
  placed.sort((a, b) => a.order - b.order);
  for (const { annotation, position } of placed) {
    context.annotations.absorb(annotation, { start: position.start, end: position.end });
  }
  return merged;
}

function collectSelectors(expr: Expr, into: Set<VectorSelector>): void {
  if (expr.kind === 'vector') into.add(expr);
  for (const child of childrenOf(expr)) collectSelectors(child, into);
}
