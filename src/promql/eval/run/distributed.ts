import { sortInTurns } from '../../../base/turns/sort-in-turns.ts';
import type { PortableAnnotation } from '../../annotations.ts';
import { inTurns } from '../../../base/turns/turns.ts';
import { QueryError, type Position } from '../../errors.ts';
import { childrenOf, type AggregateExpr, type Expr, type VectorSelector } from '../../parser/ast.ts';
import type { Distribution, FragmentResult } from '../../plan/fragment.ts';
import { isUndecided, mergePartials } from '../../plan/merge-partials.ts';
import { planQuery, positionsOf, seriesFragment, type Fragment } from '../../plan/plan.ts';
import type { SelectRequest } from '../../types.ts';
import { aggregateColumns } from '../aggregate/aggregate.ts';
import { finishGroups } from '../aggregate/fold.ts';
import { holdColumns, releaseColumns, type Column } from '../columns.ts';
import type { EvalContext, EvalSettings } from '../context.ts';
import { subqueryFrame, type Frame } from '../frame.ts';
import { groupsOf, isFoldOperator } from '../aggregate/group-rows.ts';
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

  /** True for the subtree of a fragment whose columns were not asked for yet. */
  isPart(expr: Expr): boolean {
    return this.#parts.has(expr);
  }

  /**
   * The columns of a subtree. Null when it is not a fragment; a promise of null when it has to be evaluated here. May be
   * asked once: the answer is not kept.
   */
  columns(context: EvalContext, expr: Expr, frame: Frame): Promise<Column[] | null> | null {
    const part = this.#parts.get(expr);
    if (part === undefined) return null;
    this.#parts.delete(expr);
    return this.#columnsOf(part, context, frame);
  }

  async #columnsOf({ fragment, results }: Part, context: EvalContext, frame: Frame): Promise<Column[] | null> {
    const answer = await merged(context, fragment, results);
    if (answer === null) return null;
    if (fragment.kind === 'agg') {
      const { op } = fragment.node as AggregateExpr;
      const isFolded = isFoldOperator(op) || op === 'count_values';
      return isFolded ? finishRows(context, fragment, answer, frame) : this.#pick(context, fragment, answer, frame);
    }
    await absorb(context, fragment, answer, frame);
    await holdColumns(context.budget, answer.columns, answer.heldBytes);
    return [...answer.columns];
  }

  /** The series that topk, bottomk or limitk chooses among the candidates. */
  async #pick(
    context: EvalContext,
    fragment: Fragment,
    answer: FragmentResult,
    frame: Frame,
  ): Promise<Column[] | null> {
    const { budget } = context;
    await holdColumns(budget, answer.columns, answer.heldBytes);
    if (!(await isUndecided(budget, fragment, answer, frame)))
      return picked(context, fragment, fragment, answer, frame);
    await releaseColumns(budget, answer.columns);
    return this.#pickFromAll(context, fragment, frame);
  }

  /** Which of equal series are chosen depends on all series before them: here, the nodes' series are needed after all. */
  async #pickFromAll(context: EvalContext, fragment: Fragment, frame: Frame): Promise<Column[] | null> {
    const whole = seriesFragment((fragment.node as AggregateExpr).expr, [])!;
    const series = await merged(context, whole, this.#ask(whole, frame));
    if (series === null) return null;
    await holdColumns(context.budget, series.columns, series.heldBytes);
    return picked(context, fragment, whole, series, frame);
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

/** The nodes' answers in one; null as for `answered`. */
async function merged(
  context: EvalContext,
  fragment: Fragment,
  results: Part['results'],
): Promise<FragmentResult | null> {
  const all = await context.stopwatch.waiting(answered(results));
  return all && mergePartials(context.budget, fragment, all);
}

/** Placing an annotation costs as much as the work on this many samples. */
const annotationWork = 50;

/** Adds an answer's annotations at their positions in the query, and its sample counts to the frame. */
async function absorb(context: EvalContext, fragment: Fragment, answer: FragmentResult, frame: Frame): Promise<void> {
  const { budget, annotations } = context;
  budget.read += answer.samplesRead;
  budget.touch(answer.seriesRead);
  if (answer.samples !== undefined) frame.samples?.add(answer.samples);
  for (const warning of answer.warnings) annotations.sourceWarning(warning);
  annotations.absorbOmitted(answer);
  if (answer.annotations.length === 0) return;
  const places = positionsOf(fragment);
  const placed: { annotation: PortableAnnotation; position: Position; order: number }[] = [];
  for (const annotation of answer.annotations) {
    const { start, end } = annotation.position;
    const place = places.get(`${start} ${end}`);
    placed.push({ annotation, position: place?.node ?? fragment.node, order: place?.order ?? places.size });
    if (budget.spend(annotationWork)) await budget.turn();
  }
  // The same message raised at two positions is shown at the position that is evaluated last.
  for (const { annotation, position } of await sortInTurns(budget, placed, (a, b) => a.order - b.order, 5)) {
    annotations.absorb(annotation, { start: position.start, end: position.end });
    if (budget.spend(annotationWork)) await budget.turn();
  }
}

/** The columns of groups. The budget is charged for the groups until it is charged for the columns. */
async function finishRows(
  context: EvalContext,
  fragment: Fragment,
  answer: FragmentResult,
  frame: Frame,
): Promise<Column[]> {
  await absorb(context, fragment, answer, frame);
  const { expr, op: own } = fragment.node as AggregateExpr;
  const op = isFoldOperator(own) ? own : 'count';
  const { budget } = context;
  const groups = await inTurns(budget, groupsOf(op, answer.groups));
  const weight = groups.reduce((sum, group) => sum + group.weight, 0);
  budget.hold(weight, answer.heldBytes);
  const columns = await finishGroups(context, { op, expr }, groups, frame);
  await holdColumns(budget, columns);
  budget.release(weight);
  return columns;
}

/**
 * The series that topk, bottomk or limitk chooses. `answer` is what the nodes sent for `source`; the budget is charged
 * for it until it is charged for the result.
 */
async function picked(
  context: EvalContext,
  { node, param }: Fragment,
  source: Fragment,
  answer: FragmentResult,
  frame: Frame,
): Promise<Column[]> {
  await absorb(context, source, answer, frame);
  const { budget } = context;
  const values = new Float64Array(frame.count).fill(param as number);
  const scalar = { kind: 'scalar', values } as const;
  const columns = await aggregateColumns(context, node as AggregateExpr, scalar, answer.columns, frame);
  await holdColumns(budget, columns);
  await releaseColumns(budget, answer.columns);
  return columns;
}

function collectSelectors(expr: Expr, into: Set<VectorSelector>): void {
  if (expr.kind === 'vector') into.add(expr);
  for (const child of childrenOf(expr)) collectSelectors(child, into);
}
