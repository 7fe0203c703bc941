import { ParseError, type Position } from '../errors.ts';
import { matches } from '../matching/matcher.ts';
import {
  comparisonOperators,
  setOperators,
  typeOf,
  type AggregateExpr,
  type BinaryExpr,
  type CallExpr,
  type Expr,
  type VectorSelector,
} from './ast.ts';
import type { ValueType } from './functions.ts';

/**
 * Checks the types of a whole expression and returns it with the final `matching` of each binary expression: null
 * unless both sides are instant vectors; its cardinality is many-to-many for set operators.
 * Errors: ParseError for the first rule broken, in the order in which Prometheus checks them.
 */
export function checkTypes(text: string, expr: Expr): Expr {
  return new TypeChecker(text).check(expr);
}

class TypeChecker {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  check(expr: Expr, emptyMatchersAllowed = false): Expr {
    switch (expr.kind) {
      case 'aggregate':
        return this.#aggregate(expr);
      case 'binary':
        return this.#binary(expr);
      case 'call':
        return this.#call(expr);
      case 'paren':
        return { ...expr, expr: this.check(expr.expr) };
      case 'unary': {
        const inner = this.check(expr.expr);
        const type = typeOf(inner);
        if (type !== 'scalar' && type !== 'instant vector') {
          this.#fail(
            expr,
            `unary expression only allowed on expressions of type scalar or instant vector, got "${type}"`,
          );
        }
        return { ...expr, expr: inner };
      }
      case 'subquery': {
        const inner = this.check(expr.expr);
        const type = typeOf(inner);
        if (type !== 'instant vector') {
          const short = type === 'range vector' ? 'matrix' : type;
          this.#fail(expr, `subquery is only allowed on instant vector, got ${short} instead`);
        }
        return { ...expr, expr: inner };
      }
      case 'matrix':
        this.#selector(expr.selector, emptyMatchersAllowed);
        return expr;
      case 'vector':
        this.#selector(expr, emptyMatchersAllowed);
        return expr;
      default:
        return expr;
    }
  }

  #selector(selector: VectorSelector, emptyMatchersAllowed: boolean): void {
    if (selector.name !== '') {
      const twice = selector.matchers.slice(0, -1).find((m) => m.name === '__name__');
      if (twice !== undefined) {
        const names = `${JSON.stringify(selector.name)} or ${JSON.stringify(twice.value)}`;
        this.#fail(selector, `metric name must not be set twice: ${names}`);
      }
      return;
    }
    if (!emptyMatchersAllowed && selector.matchers.every((m) => matches(m, ''))) {
      this.#fail(selector, 'vector selector must contain at least one non-empty matcher');
    }
  }

  #expect(expr: Expr, wanted: ValueType, context: string): Expr {
    const checked = this.check(expr);
    const type = typeOf(checked);
    if (type !== wanted) this.#fail(expr, `expected type ${wanted} in ${context}, got ${type}`);
    return checked;
  }

  #aggregate(expr: AggregateExpr): Expr {
    const inner = this.#expect(expr.expr, 'instant vector', 'aggregation expression');
    const wanted = expr.op === 'count_values' ? 'string' : 'scalar';
    const param = expr.param === null ? null : this.#expect(expr.param, wanted, 'aggregation parameter');
    return { ...expr, expr: inner, param };
  }

  #call(expr: CallExpr): Expr {
    const { func, args } = expr;
    const declared = func.args.length;
    if (func.variadic === 0) {
      if (args.length !== declared) {
        this.#fail(expr, `expected ${declared} argument(s) in call to "${func.name}", got ${args.length}`);
      }
    } else {
      const least = declared - 1;
      const most = least + func.variadic;
      if (args.length < least) {
        this.#fail(expr, `expected at least ${least} argument(s) in call to "${func.name}", got ${args.length}`);
      }
      if (func.variadic > 0 && args.length > most) {
        this.#fail(expr, `expected at most ${most} argument(s) in call to "${func.name}", got ${args.length}`);
      }
    }
    if (func.name === 'info' && args.length > 1) this.#infoSelector(expr, args[1]!);
    const checked = args.map((arg, i) => {
      const wanted = func.args[Math.min(i, declared - 1)]!;
      const result = this.check(arg, func.name === 'info' && i === 1);
      const type = typeOf(result);
      if (type !== wanted) {
        this.#fail(arg, `expected type ${wanted} in call to function "${func.name}", got ${type}`);
      }
      return result;
    });
    return { ...expr, args: checked };
  }

  #infoSelector(call: CallExpr, arg: Expr): void {
    const type = typeOf(arg);
    if (type !== 'instant vector') {
      this.#fail(call, `expected type instant vector in call to function "info", got ${type}`);
    }
    if (arg.kind !== 'vector') this.#fail(arg, 'expected label selectors only');
    else if (arg.name !== '') this.#fail(arg, 'expected label selectors only, got vector selector instead');
  }

  #binary(expr: BinaryExpr): Expr {
    const left = this.check(expr.left);
    const right = this.check(expr.right);
    const [lt, rt] = [typeOf(left), typeOf(right)];
    const isComparison = comparisonOperators.has(expr.op);
    const isSet = setOperators.has(expr.op);
    const operator = this.#operatorPosition(expr);
    if (expr.returnBool && !isComparison) {
      this.#fail(operator, 'bool modifier can only be used on comparison operators');
    }
    if (isComparison && !expr.returnBool && lt === 'scalar' && rt === 'scalar') {
      this.#fail(operator, 'comparisons between scalars must use BOOL modifier');
    }
    const matching = expr.matching!;
    const twice = matching.on ? matching.labels.find((name) => matching.include.includes(name)) : undefined;
    if (twice !== undefined) {
      this.#fail(operator, `label ${JSON.stringify(twice)} must not occur in ON and GROUP clause at once`);
    }
    for (const [side, type] of [
      [left, lt],
      [right, rt],
    ] as const) {
      if (type !== 'scalar' && type !== 'instant vector') {
        this.#fail(side, 'binary expression must contain only scalar and instant vector types');
      }
    }
    const fills = matching.fillLeft !== null || matching.fillRight !== null;
    if (lt !== 'instant vector' || rt !== 'instant vector') {
      if (matching.labels.length > 0) this.#fail(expr, 'vector matching only allowed between instant vectors');
      if (fills) this.#fail(expr, 'filling in missing series only allowed between instant vectors');
      if (isSet) this.#fail(expr, `set operator "${expr.op}" not allowed in binary scalar expression`);
      return { ...expr, left, right, matching: null };
    }
    if (!isSet) return { ...expr, left, right };
    if (matching.card !== 'one-to-one') this.#fail(expr, `no grouping allowed for "${expr.op}" operation`);
    if (fills) this.#fail(expr, 'filling in missing series not allowed for set operators');
    return { ...expr, left, right, matching: { ...matching, card: 'many-to-many' } };
  }

  #operatorPosition(expr: BinaryExpr): Position {
    let { end: start } = expr.left;
    while (/\s/.test(this.#text[start] ?? '')) start++;
    return { start, end: expr.right.start };
  }

  #fail(position: Position, reason: string): never {
    throw new ParseError(this.#text, position, reason);
  }
}
