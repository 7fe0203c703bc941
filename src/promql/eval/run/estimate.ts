import type { Expr, MatrixSelector, SubqueryExpr } from '../../parser/ast.ts';
import { childrenOf } from '../../parser/ast.ts';
import { queryLimits } from '../../limits.ts';
import { tooManySamples } from '../budget.ts';
import { bufferWeight } from '../columns.ts';
import { subqueryFrame, type Frame } from '../frame.ts';
import { milliseconds, timingOf } from '../resolve.ts';

/**
 * Refuses a resolved query before any series is read, when the query itself or one of its subqueries has too many
 * steps. The steps of a subquery span all windows of the function around it.
 * Errors: QueryError `execution` (ERR_QUERY_LIMIT) with the number and the limit.
 */
export function refuseTooManySteps(expr: Expr, frame: Frame, maxSamples: number): void {
  checkFrame(frame, 'a query', maxSamples);
  visit(expr, frame, maxSamples);
}

function visit(expr: Expr, frame: Frame, maxSamples: number): void {
  let inner = frame;
  if (expr.kind === 'subquery') {
    inner = subqueryFrame(frame, timingOf(expr), milliseconds(expr.range), milliseconds(expr.step!));
    checkFrame(inner, 'a subquery', maxSamples);
  }
  for (const child of childrenOf(expr)) visit(child, inner, maxSamples);
}

function checkFrame({ count }: Frame, what: string, maxSamples: number): void {
  if (count > queryLimits.steps) throw tooManySamples(`${what} of ${count} steps, at most ${queryLimits.steps}`);
  if (bufferWeight(count) > maxSamples) {
    throw tooManySamples(`${what} of ${count} steps is ${bufferWeight(count)} samples, at most ${maxSamples}`);
  }
}

/**
 * Refuses a function over a subquery whose windows hold too many samples, summed over all steps and series. For a range
 * selector the number of samples in a window is not known beforehand; they are counted while they are read.
 */
export function refuseTooMuchInWindows(arg: MatrixSelector | SubqueryExpr, frame: Frame, series: number): void {
  if (arg.kind !== 'subquery') return;
  const inWindow = Math.ceil(milliseconds(arg.range) / milliseconds(arg.step!));
  const all = inWindow * frame.count * series;
  if (all <= queryLimits.windowSamples) return;
  const how = `${frame.count} steps with windows of ${inWindow} subquery steps over ${series} series`;
  throw tooManySamples(`${how} look at ${all} samples, at most ${queryLimits.windowSamples}`);
}
