import { ParseError } from '../errors.ts';
import { goMax, goMin, power } from '../numbers.ts';
import {
  unwrapParens,
  type AtModifier,
  type Duration,
  type DurationExpr,
  type Expr,
  type MatrixSelector,
  type SubqueryExpr,
  type VectorSelector,
} from '../parser/ast.ts';
import { maxDurationSeconds } from '../parser/durations.ts';
import type { Timing } from './frame.ts';

/** The span and step of the whole query. Units: milliseconds; the step of an instant query is 0. */
export interface QuerySpan {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/**
 * Resolves a tree for one query: duration expressions become milliseconds; `@ start()` and `@ end()` become times;
 * `start()`, `end()`, `range()` and `step()` become numbers; every subquery gets a step; parentheses around arguments
 * are removed.
 * Errors: ParseError for an invalid duration.
 * A tree whose result does not depend on the span is resolved once. Later calls with the same tree get that result.
 */
export function resolve(
  expr: Expr,
  span: QuerySpan,
  text: string,
  defaultSubqueryStepMs: (rangeMs: number) => number,
): Expr {
  const known = ofEverySpan.get(expr);
  if (known !== undefined) return known;
  const resolver = new Resolver(span, text, defaultSubqueryStepMs);
  const resolved = resolver.visit(expr);
  if (!resolver.tookSpan) ofEverySpan.set(expr, resolved);
  return resolved;
}

/** Parsed tree → its resolved tree, where that is the same for every span. */
const ofEverySpan = new WeakMap<Expr, Expr>();

/** The timing of a resolved selector or subquery. */
export function timingOf(node: VectorSelector | SubqueryExpr): Timing {
  return { at: node.at === null ? null : (node.at as { ms: number }).ms, offset: milliseconds(node.offset) };
}

/** The length of a resolved duration. */
export function milliseconds(duration: Duration): number {
  return (duration as { ms: number }).ms;
}

/** Functions whose value is one number for the whole query. */
const spanFunctions: ReadonlySet<string> = new Set(['start', 'end', 'range', 'step']);

const rangeSeconds = ({ start, end }: Pick<QuerySpan, 'start' | 'end'>): number => (end - start) / 1000;

class Resolver {
  readonly #span: QuerySpan;
  readonly #text: string;
  readonly #defaultSubqueryStepMs: (rangeMs: number) => number;
  /** Set when the result depends on the span, or on the default step of subqueries. */
  tookSpan = false;

  constructor(span: QuerySpan, text: string, defaultSubqueryStepMs: (rangeMs: number) => number) {
    this.#span = span;
    this.#text = text;
    this.#defaultSubqueryStepMs = defaultSubqueryStepMs;
  }

  visit(expr: Expr): Expr {
    switch (expr.kind) {
      case 'vector':
        return this.#selector(expr);
      case 'matrix': {
        const range = this.#duration(expr.range, false);
        return { ...expr, selector: this.#selector(expr.selector), range } satisfies MatrixSelector;
      }
      case 'subquery': {
        const range = this.#duration(expr.range, false);
        const step =
          expr.step === null ? { ms: this.#defaultStep(milliseconds(range)) } : this.#duration(expr.step, false);
        return {
          ...expr,
          expr: this.visit(expr.expr),
          range,
          step,
          offset: this.#duration(expr.offset, true),
          at: this.#at(expr.at),
        };
      }
      case 'aggregate': {
        const param = expr.param === null ? null : this.visit(unwrapParens(expr.param));
        return { ...expr, expr: this.visit(unwrapParens(expr.expr)), param };
      }
      case 'binary':
        return { ...expr, left: this.visit(expr.left), right: this.visit(expr.right) };
      case 'call': {
        const value = this.#queryConstant(expr.func.name);
        if (value !== null) return { kind: 'number', value, isDuration: false, start: expr.start, end: expr.end };
        return { ...expr, args: expr.args.map((arg) => this.visit(unwrapParens(arg))) };
      }
      case 'paren':
      case 'unary':
        return { ...expr, expr: this.visit(expr.expr) };
      default:
        return expr;
    }
  }

  #queryConstant(name: string): number | null {
    if (!spanFunctions.has(name)) return null;
    const { start, end, step } = this.#takeSpan();
    if (name === 'start') return start / 1000;
    if (name === 'end') return end / 1000;
    if (name === 'range') return rangeSeconds({ start, end });
    return start === end ? 0 : step / 1000;
  }

  #defaultStep(rangeMs: number): number {
    this.tookSpan = true;
    return this.#defaultSubqueryStepMs(rangeMs);
  }

  #takeSpan(): QuerySpan {
    this.tookSpan = true;
    return this.#span;
  }

  #selector(selector: VectorSelector): VectorSelector {
    return { ...selector, offset: this.#duration(selector.offset, true), at: this.#at(selector.at) };
  }

  #at(at: AtModifier | null): AtModifier | null {
    if (at === null || at.kind === 'time') return at;
    const { start, end } = this.#takeSpan();
    return { kind: 'time', ms: at.kind === 'start' ? start : end };
  }

  #duration(duration: Duration, mayBeNegative: boolean): Duration {
    if ('ms' in duration) return duration;
    const { expr } = duration;
    const seconds = this.#seconds(expr);
    if (!Number.isFinite(seconds)) this.#fail(expr, 'duration is NaN or infinite');
    if (seconds <= 0 && !mayBeNegative) this.#fail(expr, 'duration must be greater than 0');
    if (Math.abs(seconds) > maxDurationSeconds) this.#fail(expr, 'duration is out of range');
    return { ms: Math.trunc(seconds * 1000) };
  }

  #seconds(expr: DurationExpr): number {
    switch (expr.kind) {
      case 'number':
        return expr.seconds;
      case 'step':
        return this.#takeSpan().step / 1000;
      case 'range':
        return rangeSeconds(this.#takeSpan());
      case 'min_of':
        return goMin(this.#seconds(expr.left), this.#seconds(expr.right));
      case 'max_of':
        return goMax(this.#seconds(expr.left), this.#seconds(expr.right));
      case 'negate':
        return -this.#seconds(expr.operand);
      case 'paren':
        return this.#seconds(expr.operand);
      case 'binary':
        return this.#arithmetic(expr);
    }
  }

  #arithmetic(expr: DurationExpr & { kind: 'binary' }): number {
    const left = this.#seconds(expr.left);
    const right = this.#seconds(expr.right);
    if (right === 0 && expr.op === '/') this.#fail(expr, 'division by zero');
    if (right === 0 && expr.op === '%') this.#fail(expr, 'modulo by zero');
    switch (expr.op) {
      case '+':
        return left + right;
      case '-':
        return left - right;
      case '*':
        return left * right;
      case '/':
        return left / right;
      case '%':
        return left % right;
      case '^':
        return power(left, right);
    }
  }

  #fail(expr: DurationExpr, reason: string): never {
    throw new ParseError(this.#text, expr, reason);
  }
}
