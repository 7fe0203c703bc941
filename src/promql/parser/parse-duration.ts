import type { Duration, DurationExpr, DurationOperator } from './ast.ts';
import { maxDurationSeconds } from './durations.ts';
import { atNumber, parseNumberLiteral } from './parse-number.ts';
import type { TokenStream } from './token-stream.ts';

const binding: Record<DurationOperator, number> = { '+': 1, '-': 1, '*': 2, '/': 2, '%': 2, '^': 3 };
const unaryBinding = 2;

/** Milliseconds of a literal number of seconds, rounded to nanoseconds first as Prometheus does. */
function literalMs(seconds: number): number {
  return Math.trunc(Math.round(seconds * 1e9) / 1e6);
}

/** A duration expression that is a plain number becomes known milliseconds. */
function toDuration(expr: DurationExpr): Duration {
  return expr.kind === 'number' ? { ms: literalMs(expr.seconds) } : { expr };
}

/** The range or step of `[range:step]`. A literal must be positive. */
export function parsePositiveDuration(stream: TokenStream, context: string, expected: string): Duration {
  const expr = parseDurationExpr(stream, 0, context, expected);
  if (expr.kind === 'number' && expr.seconds <= 0) stream.fail(expr, 'duration must be greater than 0');
  return toDuration(expr);
}

/**
 * The duration after `offset`: one number, `step()`, `range()`, `min_of()` or `max_of()`, with or without a sign, or an
 * expression in parentheses. Operators that follow belong to the query (`x offset 5m * 2` multiplies x), except after
 * parentheses without a sign, where they belong to the duration.
 */
export function parseOffsetDuration(stream: TokenStream): Duration {
  const context = 'offset';
  const expected = 'number, duration, step(), or range()';
  if (stream.at('(')) return toDuration(parseDurationExpr(stream, 0, context, expected));
  if (!stream.at('-') && !stream.at('+')) return toDuration(parseAtom(stream, context, expected));
  const sign = stream.take();
  return toDuration(signed(stream, sign.text, sign.start, parseAtom(stream, context, expected)));
}

function signed(stream: TokenStream, sign: string, start: number, operand: DurationExpr): DurationExpr {
  if (operand.kind === 'number') {
    const seconds = sign === '-' ? -operand.seconds : operand.seconds;
    return { ...checkRange(stream, { ...operand, seconds }), start };
  }
  if (sign === '+') return operand;
  return { kind: 'negate', operand, start, end: operand.end };
}

function checkRange<T extends DurationExpr>(stream: TokenStream, expr: T): T {
  if (expr.kind === 'number' && Math.abs(expr.seconds) > maxDurationSeconds) stream.fail(expr, 'duration out of range');
  return expr;
}

function parseDurationExpr(stream: TokenStream, minBinding: number, context: string, expected: string): DurationExpr {
  return stream.nested(() => parseDurationOperators(stream, minBinding, context, expected));
}

function parseDurationOperators(
  stream: TokenStream,
  minBinding: number,
  context: string,
  expected: string,
): DurationExpr {
  let left: DurationExpr;
  if (stream.at('-') || stream.at('+')) {
    const sign = stream.take();
    left = signed(stream, sign.text, sign.start, parseDurationExpr(stream, unaryBinding + 1, context, expected));
  } else left = parseAtom(stream, context, expected);
  for (;;) {
    const op = stream.current.kind === 'operator' ? (stream.current.text as DurationOperator) : null;
    const strength = op === null ? undefined : binding[op];
    if (op === null || strength === undefined || strength < minBinding) return left;
    const token = stream.take();
    const right = parseDurationExpr(stream, op === '^' ? strength : strength + 1, '', '');
    if (right.kind === 'number' && right.seconds === 0) {
      if (op === '/') stream.fail(token, 'division by zero');
      if (op === '%') stream.fail(token, 'modulo by zero');
    }
    left = { kind: 'binary', op, left, right, start: left.start, end: right.end };
  }
}

function parseAtom(stream: TokenStream, context: string, expected: string): DurationExpr {
  const start = stream.current.start;
  if (atNumber(stream)) {
    const { value, isDuration, end } = parseNumberLiteral(stream);
    return checkRange(stream, { kind: 'number', seconds: value, isDuration, start, end });
  }
  if (stream.at('(')) {
    stream.take();
    const operand = parseDurationExpr(stream, 0, '', '');
    const { end } = stream.expect(')');
    return { kind: 'paren', operand, start, end };
  }
  if (stream.atKeyword('step', 'range')) {
    const kind = stream.take().word as 'step' | 'range';
    stream.expect('(', context, expected);
    const { end } = stream.expect(')');
    return { kind, start, end };
  }
  if (stream.atKeyword('min_of', 'max_of')) {
    const kind = stream.take().word as 'min_of' | 'max_of';
    stream.expect('(', context, expected);
    const left = parseDurationExpr(stream, 0, '', '');
    stream.expect(',');
    const right = parseDurationExpr(stream, 0, '', '');
    const { end } = stream.expect(')');
    return { kind, left, right, start, end };
  }
  return stream.unexpected(context, expected);
}
