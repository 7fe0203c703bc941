import type { Position } from '../errors.ts';
import type { Matcher } from '../types.ts';
import type { FunctionSignature, ValueType } from './functions.ts';

/** The precedence of binary operators: a higher number binds tighter. Only `^` is right-associative. */
export const binaryOperators = {
  or: 1,
  and: 2,
  unless: 2,
  '==': 3,
  '!=': 3,
  '<': 3,
  '<=': 3,
  '>': 3,
  '>=': 3,
  '</': 3,
  '>/': 3,
  '+': 4,
  '-': 4,
  '*': 5,
  '/': 5,
  '%': 5,
  atan2: 5,
  '^': 6,
} as const;
/** Operators between two expressions. `</` and `>/` trim native histograms at a bound. */
export type BinaryOperator = keyof typeof binaryOperators;

const withParameter = ['topk', 'bottomk', 'count_values', 'quantile', 'limitk', 'limit_ratio'] as const;

/** The names of aggregations. */
export const aggregators = [
  'sum',
  'avg',
  'count',
  'min',
  'max',
  'group',
  'stddev',
  'stdvar',
  ...withParameter,
] as const;
/** Operators that aggregate series. */
export type Aggregator = (typeof aggregators)[number];

/** A fixed evaluation time of a selector or subquery: a timestamp, or the query's start or end. */
export type AtModifier =
  { readonly kind: 'time'; readonly ms: number } | { readonly kind: 'start' } | { readonly kind: 'end' };

/** A known duration (milliseconds), or an expression over `step()` and `range()`. */
export type Duration = { readonly ms: number } | { readonly expr: DurationExpr };

/** Arithmetic that durations allow. */
export type DurationOperator = '+' | '-' | '*' | '/' | '%' | '^';

/** Arithmetic on durations in seconds, resolved once the query's step and range are known. */
export type DurationExpr = Position &
  (
    | { readonly kind: 'number'; readonly seconds: number; readonly isDuration: boolean }
    | { readonly kind: 'step' | 'range' }
    | { readonly kind: 'min_of' | 'max_of'; readonly left: DurationExpr; readonly right: DurationExpr }
    | {
        readonly kind: 'binary';
        readonly op: DurationOperator;
        readonly left: DurationExpr;
        readonly right: DurationExpr;
      }
    | { readonly kind: 'negate'; readonly operand: DurationExpr }
    | { readonly kind: 'paren'; readonly operand: DurationExpr }
  );

/** A number, or a duration in seconds. */
export interface NumberLiteral extends Position {
  readonly kind: 'number';
  readonly value: number;
  /** True for a number written as a duration (`1h`), which is printed as a duration again. */
  readonly isDuration: boolean;
}

/** A string literal. */
export interface StringLiteral extends Position {
  readonly kind: 'string';
  readonly value: string;
}

/** Selects one sample of each series: `name{matchers} offset … @ …`. */
export interface VectorSelector extends Position {
  readonly kind: 'vector';
  /** The name outside the braces, or "". */
  readonly name: string;
  /** All matchers; the name outside the braces comes last. */
  readonly matchers: readonly Matcher[];
  readonly at: AtModifier | null;
  readonly offset: Duration;
  readonly extension: 'anchored' | 'smoothed' | null;
}

/** Selects the samples of a time range of each series: `selector[5m]`. */
export interface MatrixSelector extends Position {
  readonly kind: 'matrix';
  readonly selector: VectorSelector;
  readonly range: Duration;
}

/** An expression over a range: `expr[1h:1m]`. */
export interface SubqueryExpr extends Position {
  readonly kind: 'subquery';
  readonly expr: Expr;
  readonly range: Duration;
  /** null: the engine's default step. */
  readonly step: Duration | null;
  readonly at: AtModifier | null;
  readonly offset: Duration;
}

/** `op by (labels) (param, expr)`. */
export interface AggregateExpr extends Position {
  readonly kind: 'aggregate';
  readonly op: Aggregator;
  readonly expr: Expr;
  readonly param: Expr | null;
  readonly grouping: readonly string[];
  readonly without: boolean;
}

/** Describes which series of both sides of an operator match. */
export interface VectorMatching {
  readonly card: 'one-to-one' | 'many-to-one' | 'one-to-many' | 'many-to-many';
  readonly on: boolean;
  readonly labels: readonly string[];
  readonly include: readonly string[];
  readonly fillLeft: number | null;
  readonly fillRight: number | null;
}

/** `left op right`. */
export interface BinaryExpr extends Position {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly left: Expr;
  readonly right: Expr;
  readonly returnBool: boolean;
  /** null unless both sides are instant vectors. */
  readonly matching: VectorMatching | null;
}

/** A function and its arguments. */
export interface CallExpr extends Position {
  readonly kind: 'call';
  readonly func: FunctionSignature;
  readonly args: readonly Expr[];
}

/** An expression in parentheses. */
export interface ParenExpr extends Position {
  readonly kind: 'paren';
  readonly expr: Expr;
}

/** A sign before an expression. */
export interface UnaryExpr extends Position {
  readonly kind: 'unary';
  readonly op: '+' | '-';
  readonly expr: Expr;
}

/** The typed syntax tree. Nodes are immutable; positions are offsets into the query. */
export type Expr =
  | NumberLiteral
  | StringLiteral
  | VectorSelector
  | MatrixSelector
  | SubqueryExpr
  | AggregateExpr
  | BinaryExpr
  | CallExpr
  | ParenExpr
  | UnaryExpr;

/** The static type of an expression. */
export function typeOf(expr: Expr): ValueType {
  switch (expr.kind) {
    case 'number':
      return 'scalar';
    case 'string':
      return 'string';
    case 'vector':
    case 'aggregate':
      return 'instant vector';
    case 'matrix':
    case 'subquery':
      return 'range vector';
    case 'call':
      return expr.func.returns;
    case 'paren':
    case 'unary':
      return typeOf(expr.expr);
    case 'binary':
      return typeOf(expr.left) === 'scalar' && typeOf(expr.right) === 'scalar' ? 'scalar' : 'instant vector';
  }
}

/** The direct children of a node, in source order. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'matrix':
      return [expr.selector];
    case 'subquery':
    case 'paren':
    case 'unary':
      return [expr.expr];
    case 'aggregate':
      return expr.param === null ? [expr.expr] : [expr.param, expr.expr];
    case 'binary':
      return [expr.left, expr.right];
    case 'call':
      return expr.args;
    default:
      return [];
  }
}

/** The expression without the parentheses around it. */
export function unwrapParens(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'paren') inner = inner.expr;
  return inner;
}

/** Operators that compare, and filter unless they have `bool`. */
export const comparisonOperators: ReadonlySet<string> = new Set(['==', '!=', '>', '<', '>=', '<=']);
/** Operators on sets of series. */
export const setOperators: ReadonlySet<string> = new Set(['and', 'or', 'unless']);
/** Aggregators with a parameter before the expression. */
export const parameterAggregators: ReadonlySet<string> = new Set(withParameter);
