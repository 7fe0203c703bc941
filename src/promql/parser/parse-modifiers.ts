import type { AtModifier, Duration, Expr, SubqueryExpr, VectorSelector } from './ast.ts';
import { parseOffsetDuration } from './parse-duration.ts';
import { parseSignedNumber } from './parse-number.ts';
import type { TokenStream } from './token-stream.ts';

interface Timing {
  readonly at: AtModifier | null;
  readonly offset: Duration;
}

function timed(expr: Expr): VectorSelector | SubqueryExpr | null {
  if (expr.kind === 'matrix') return expr.selector;
  return expr.kind === 'vector' || expr.kind === 'subquery' ? expr : null;
}

function withTiming(expr: Expr, timing: Partial<Timing>, end: number): Expr {
  if (expr.kind === 'matrix') return { ...expr, selector: { ...expr.selector, ...timing }, end };
  return { ...(expr as VectorSelector | SubqueryExpr), ...timing, end };
}

/** The part that a modifier changes; a modifier after anything else is a fault. */
function timedBy(stream: TokenStream, expr: Expr, modifier: string): VectorSelector | SubqueryExpr {
  const after = 'an instant vector selector or range vector selector or a subquery';
  return timed(expr) ?? stream.fail(expr, `${modifier} modifier must be preceded by ${after}`);
}

/** Consumes `offset <duration>` after a selector or subquery. */
export function parseOffset(stream: TokenStream, expr: Expr): Expr {
  stream.take();
  const offset = parseOffsetDuration(stream);
  const target = timedBy(stream, expr, 'offset');
  if (!('ms' in target.offset) || target.offset.ms !== 0) stream.fail(expr, 'offset may not be set multiple times');
  return withTiming(expr, { offset }, stream.lastEnd);
}

/** Consumes `@ <timestamp>`, `@ start()` or `@ end()` after a selector or subquery. */
export function parseAt(stream: TokenStream, expr: Expr): Expr {
  stream.take();
  let at: AtModifier;
  if (stream.atKeyword('start', 'end')) {
    const kind = stream.take().word as 'start' | 'end';
    stream.expect('(', '@', 'timestamp');
    stream.expect(')', '@', 'timestamp');
    at = { kind };
  } else {
    const { value } = parseSignedNumber(stream, '@', 'timestamp');
    if (!(Math.abs(value) < 2 ** 63)) {
      const shown = Number.isNaN(value)
        ? 'NaN'
        : Number.isFinite(value)
          ? value.toFixed(6)
          : `${value > 0 ? '+' : '-'}Inf`;
      stream.fail(expr, `timestamp out of bounds for @ modifier: ${shown}`);
    }
    at = { kind: 'time', ms: roundHalfAway(value * 1000) };
  }
  const target = timedBy(stream, expr, '@');
  if (target.at !== null) stream.fail(expr, '@ <timestamp> may not be set multiple times');
  return withTiming(expr, { at }, stream.lastEnd);
}

/** Consumes `anchored` or `smoothed` after a selector. */
export function parseExtension(stream: TokenStream, expr: Expr): Expr {
  const extension = stream.take().word as 'anchored' | 'smoothed';
  if (stream.options.extendedRangeSelectors !== true) {
    stream.fail(expr, `${extension} modifier is experimental and not enabled`);
  }
  if (expr.kind === 'subquery') stream.fail(expr, `${extension} modifier is not supported for subqueries`);
  const target = timed(expr);
  if (target === null || target.kind !== 'vector') return stream.fail(expr, `${extension} modifier not implemented`);
  if (target.extension !== null && target.extension !== extension) {
    stream.fail(expr, 'anchored and smoothed modifiers cannot be used together');
  }
  if (expr.kind === 'matrix') return { ...expr, selector: { ...expr.selector, extension } };
  return { ...target, extension };
}

/** Rounds half away from zero, as Go's math.Round does. */
function roundHalfAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value);
}
