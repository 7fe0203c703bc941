import { isFoldOperator } from '../eval/aggregate/group-rows.ts';
import { keepsOrder } from '../eval/order.ts';
import { type AggregateExpr, childrenOf, type Expr, typeOf, unwrapParens } from '../parser/ast.ts';
import { printInOrder } from '../parser/printer.ts';
import type { FragmentRequest } from './fragment.ts';
import { type Locality, localityOf } from './locality.ts';
import { parseFragment } from './parse-fragment.ts';

/**
 * True for a subtree that a node can compute completely if it has all series of its selectors: an instant vector that
 * reads series. Subtrees with info() are excluded: it reads series that no selector names.
 */
function canBeWhole(expr: Expr): boolean {
  return typeOf(expr) === 'instant vector' && someNode(expr, isSelector) && !someNode(expr, isInfo);
}

const isSelector = (expr: Expr): boolean => expr.kind === 'vector';
const isInfo = (expr: Expr): boolean => expr.kind === 'call' && expr.func.name === 'info';

function someNode(expr: Expr, is: (expr: Expr) => boolean): boolean {
  return is(expr) || childrenOf(expr).some((child) => someNode(child, is));
}

/** A part of a query that every node can compute over its own series alone. */
export interface Fragment extends FragmentRequest {
  /** The subtree that it replaces. */
  readonly node: Expr;
  /** The rules that allowed it. */
  readonly reasons: readonly string[];
}

/** One node of the query's tree with its placement. */
export interface PlanNode {
  readonly expr: Expr;
  /** Set when the nodes compute this subtree; its children are then not planned. */
  readonly fragment: Fragment | null;
  /** The reasons for its placement. */
  readonly reasons: readonly string[];
  readonly children: readonly PlanNode[];
}

/** A query with the parts that are computed on the nodes. */
export interface QueryPlan {
  readonly root: PlanNode;
  /** In evaluation order. */
  readonly fragments: readonly Fragment[];
}

/** How series are distributed over nodes, and the fragments that the nodes support. */
export interface PlanOptions {
  /** The label whose value names the node of a series. Every series must carry it. */
  readonly partitionLabel: string;
  /** False: aggregations stay central, the nodes send series. Default true. */
  readonly aggregates?: boolean;
  /** True: all selectors match series on one and the same node. Default false. */
  readonly together?: boolean;
}

/**
 * Decides which parts of a query the nodes compute.
 * Rules: the largest subtrees that are local (see `localityOf`) become series fragments; an aggregation over a local
 * subtree becomes an agg fragment when its partial states can be merged exactly; all else stays central. When all
 * series lie on one node, the largest subtrees that are instant vectors and not local become whole fragments: only
 * scalars and ranges at the root stay central, and so does info(), which reads series that no selector names.
 * Guarantees: pure, and the same plan for the same tree; the answer with fragments is bit for bit the answer without.
 */
export function planQuery(expr: Expr, { partitionLabel, aggregates = true, together = false }: PlanOptions): QueryPlan {
  let known = plans.get(expr);
  if (known === undefined) plans.set(expr, (known = new Map()));
  const key = `${partitionLabel} ${aggregates} ${together}`;
  let plan = known.get(key);
  if (plan === undefined) known.set(key, (plan = makePlan(expr, { partitionLabel, aggregates, together })));
  return plan;
}

/** Plans of trees that are still in use, by the options. */
const plans = new WeakMap<Expr, Map<string, QueryPlan>>();

function makePlan(expr: Expr, { partitionLabel, aggregates, together }: Required<PlanOptions>): QueryPlan {
  const known = new Map<Expr, Locality>();
  const of = (one: Expr): Locality => {
    let found = known.get(one);
    if (found === undefined) known.set(one, (found = localityOf(one, of, partitionLabel)));
    return found;
  };
  const fragments: Fragment[] = [];
  const root = planNode(expr, { of, fragments, aggregates, together }, true);
  return { root, fragments };
}

interface Planning {
  readonly of: (expr: Expr) => Locality;
  /** The fragments so far. */
  readonly fragments: Fragment[];
  readonly aggregates: boolean;
  readonly together: boolean;
}

function planNode(expr: Expr, planning: Planning, orderShows: boolean): PlanNode {
  const reasons = [planning.of(expr).reason];
  // A node's series come back in label order, which would lose the significant order of topk and similar operators.
  const ordered = orderShows && keepsOrder(expr);
  if (ordered) reasons.push('its order is part of the answer');
  const fragment = fragmentOf(expr, planning, ordered, reasons);
  if (fragment !== null) {
    planning.fragments.push(fragment);
    return { expr, fragment, reasons: fragment.reasons, children: [] };
  }
  // The second argument of info() is a list of matchers and is not evaluated.
  const isInfo = expr.kind === 'call' && expr.func.name === 'info';
  const children = isInfo ? childrenOf(expr).slice(0, 1) : childrenOf(expr);
  return { expr, fragment: null, reasons, children: children.map((child) => planNode(child, planning, ordered)) };
}

function fragmentOf(expr: Expr, planning: Planning, ordered: boolean, reasons: string[]): Fragment | null {
  const { of, aggregates, together } = planning;
  if (of(expr).place === 'local' && !ordered && typeOf(expr) === 'instant vector') return seriesFragment(expr, reasons);
  if (together && canBeWhole(expr)) {
    const whole = unreducedFragment('whole', expr, ['all of its series lie on one node']);
    if (whole !== null) return whole;
  }
  return expr.kind === 'aggregate' && aggregates ? aggregateFragment(expr, of, reasons) : null;
}

/** Why a subtree is not sent to the nodes although they could compute it. */
const unreadable = 'its text would not read back as the same tree';

/**
 * A fragment of kind series for a local subtree; null (and a reason) when its text would not parse back to the same
 * tree.
 */
export function seriesFragment(node: Expr, reasons: string[]): Fragment | null {
  const fragment = unreducedFragment('series', node, reasons);
  if (fragment === null) reasons.push(unreadable);
  return fragment;
}

/** A fragment whose answer is the subtree's own value. */
function unreducedFragment(kind: 'series' | 'whole', node: Expr, reasons: readonly string[]): Fragment | null {
  const expr = textOf(node);
  return expr === null ? null : { kind, expr, op: null, grouping: [], without: false, param: null, node, reasons };
}

/** Operators that pick input series by a literal parameter, and whose partial states can be merged. */
const pickOperators: ReadonlySet<string> = new Set(['topk', 'bottomk', 'limitk']);

/** Why an operator has no partial state that merges exactly. */
const inexact: Readonly<Record<string, string>> = {
  quantile: 'quantile needs all values of a group at once',
  stddev: 'the last digits of stddev depend on the order of all values',
  stdvar: 'the last digits of stdvar depend on the order of all values',
};

/** The partial state of each operator, as the reasons describe it. */
const stateOf: Readonly<Record<string, string>> = {
  sum: 'partial state: exact expansion; native histograms as they are',
  avg: 'partial state: exact expansion and count; native histograms as they are',
  count: 'partial state: count',
  group: 'partial state: presence',
  min: 'partial state: smallest value',
  max: 'partial state: largest value',
  topk: 'partial state: the k largest and their equals; if these leave the answer open, the series are read',
  bottomk: 'partial state: the k smallest and their equals; if these leave the answer open, the series are read',
  limitk: 'partial state: the first k in label order',
  count_values: 'partial state: count of each value',
};

/**
 * The agg fragment of an aggregation over a local subtree. Null when there is none; `reasons` then usually says why.
 */
function aggregateFragment(node: AggregateExpr, of: (expr: Expr) => Locality, reasons: string[]): Fragment | null {
  const { op, grouping, without } = node;
  if (of(node.expr).place !== 'local') return null;
  const why = inexact[op];
  if (why !== undefined) {
    reasons.push(why);
    return null;
  }
  const param = node.param === null ? null : unwrapParens(node.param);
  const literal = param?.kind === 'number' || param?.kind === 'string' ? param.value : null;
  const takesLiteral = pickOperators.has(op) || op === 'count_values';
  if (!isFoldOperator(op) && !takesLiteral) return null;
  if (takesLiteral && literal === null) {
    reasons.push('its parameter is not a literal');
    return null;
  }
  const expr = textOf(node.expr);
  if (expr === null) {
    reasons.push(unreadable);
    return null;
  }
  const rules = [of(node.expr).reason, stateOf[op]!];
  return { kind: 'agg', expr, op, grouping, without, param: literal, node, reasons: rules };
}

/** The text of a subtree; null when parsing it would not give the same tree again. */
function textOf(node: Expr): string | null {
  const text = printInOrder(node);
  try {
    return sameShape(node, parseFragment(text)) ? text : null;
  } catch {
    return null;
  }
}

/** True when two trees, or parts of them, differ only in positions. */
function sameShape(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => sameShape(one, b[i]));
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(x);
  if (keys.length !== Object.keys(y).length) return false;
  return keys.every((key) => (key === 'start' || key === 'end' ? key in y : sameShape(x[key], y[key])));
}

/**
 * Pairs the nodes of a fragment's text with those of the query. Key: `<start> <end>`, the offsets in the text. `order`
 * counts children before their parents.
 */
export function positionsOf(fragment: Fragment): Map<string, { readonly node: Expr; readonly order: number }> {
  const found = new Map<string, { node: Expr; order: number }>();
  const inner = fragment.kind === 'agg' ? (fragment.node as AggregateExpr).expr : fragment.node;
  const pair = (text: Expr, node: Expr): void => {
    const children = childrenOf(node);
    childrenOf(text).forEach((child, i) => pair(child, children[i]!));
    found.set(`${text.start} ${text.end}`, { node, order: found.size });
  };
  pair(parseFragment(fragment.expr), inner);
  return found;
}
