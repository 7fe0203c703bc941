import { QueryError } from '../../errors.ts';
import { childrenOf, type Expr, type VectorSelector } from '../../parser/ast.ts';
import type { SelectHints, SelectRequest } from '../../types.ts';
import type { EvalSettings } from '../context.ts';
import { referenceTime, subqueryFrame, type Frame } from '../frame.ts';
import { milliseconds, timingOf } from '../resolve.ts';

/** One selector of a query with its read request. */
export interface Demand {
  readonly selector: VectorSelector;
  readonly request: SelectRequest;
}

/** The state of a walk down the expression tree. */
interface Path {
  readonly frame: Frame;
  readonly func: string;
  readonly grouping: readonly string[];
  readonly by: boolean;
}

/**
 * Lists the reads of a resolved query, one request for each selector, so that all can be sent before the evaluation.
 * Bounds are inclusive milliseconds. Windows and lookback are left-open: the lower bound is a millisecond after their
 * start.
 */
export function listDemands(expr: Expr, frame: Frame, settings: EvalSettings): Demand[] {
  const demands: Demand[] = [];
  walk(expr, { frame, func: '', grouping: [], by: false }, settings, demands);
  return demands;
}

function walk(expr: Expr, path: Path, settings: EvalSettings, demands: Demand[]): void {
  const { frame } = path;
  switch (expr.kind) {
    case 'vector': {
      demands.push(demand(expr, 0, path, settings));
      return;
    }
    case 'matrix': {
      demands.push(demand(expr.selector, milliseconds(expr.range), path, settings));
      return;
    }
    case 'subquery': {
      const range = milliseconds(expr.range);
      const step = milliseconds(expr.step!);
      if (step <= 0) throw new QueryError('execution', 'subquery step must be positive');
      const inner = subqueryFrame(frame, timingOf(expr), range, step);
      walk(expr.expr, { ...path, frame: inner }, settings, demands);
      return;
    }
    case 'call': {
      const args = expr.func.name === 'info' ? expr.args.slice(0, 1) : expr.args;
      const inner = { frame, func: expr.func.name, grouping: [], by: false };
      for (const arg of args) walk(arg, inner, settings, demands);
      return;
    }
    case 'aggregate': {
      const inner = { frame, func: expr.op, grouping: expr.grouping, by: !expr.without };
      for (const child of childrenOf(expr)) walk(child, inner, settings, demands);
      return;
    }
    default: {
      const inner = expr.kind === 'paren' ? path : { ...path, grouping: [], by: false };
      for (const child of childrenOf(expr)) walk(child, inner, settings, demands);
    }
  }
}

function demand(selector: VectorSelector, range: number, path: Path, settings: EvalSettings): Demand {
  const { frame } = path;
  const timing = timingOf(selector);
  const lookback = settings.lookbackDeltaMs;
  const last = referenceTime(frame, timing, Math.max(0, frame.count - 1));
  const first = referenceTime(frame, timing, 0);
  let mint = first - (range > 0 ? range : lookback) + 1;
  let maxt = last;
  if (selector.extension !== null && range > 0) mint -= lookback;
  if (selector.extension === 'smoothed') maxt += lookback;
  const hints: SelectHints = {
    start: mint,
    end: maxt,
    step: frame.step,
    range,
    func: path.func,
    grouping: path.grouping,
    by: path.by,
  };
  // An empty frame reads nothing: its request has an empty span.
  if (frame.count === 0) maxt = mint - 1;
  return { selector, request: { matchers: selector.matchers, mint, maxt, hints } };
}
