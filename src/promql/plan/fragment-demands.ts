import { listDemands } from '../eval/select/prefetch.ts';
import { milliseconds, resolve } from '../eval/resolve.ts';
import { childrenOf, type Expr } from '../parser/ast.ts';
import type { SelectRequest } from '../types.ts';
import { parseFragment } from './parse-fragment.ts';
import type { FragmentRequest, FragmentSettings, Steps } from './fragment.ts';

/** The reads of a fragment, a part of a query that agents compute. */
export interface FragmentDemands {
  /** One request for each selector. */
  readonly requests: readonly SelectRequest[];
  /** A selector or subquery is evaluated at another time than the step: `@`, or an offset. */
  readonly shifted: boolean;
  /**
   * Every selector is inside an aggregation or a similar function, so a node sends its few groups instead of its
   * series.
   */
  readonly reduced: boolean;
}

/** What a node reads to compute a fragment. Pure. Errors: QueryError for a text that no plan creates. */
export function fragmentDemands(
  { expr: text }: FragmentRequest,
  steps: Steps,
  settings: FragmentSettings,
): FragmentDemands {
  const span = { start: steps.start, end: steps.start + (steps.count - 1) * steps.step, step: steps.step };
  const expr = resolve(parseFragment(text), span, text, () => 0);
  const requests = listDemands(expr, steps, settings).map(({ request }) => request);
  return { requests, shifted: isShifted(expr), reduced: isReduced(expr) };
}

/** Functions that reduce all of their input to one series, or to a number. */
const reducing: ReadonlySet<string> = new Set(['absent', 'absent_over_time', 'scalar']);

function isReduced(expr: Expr): boolean {
  if (expr.kind === 'call' && reducing.has(expr.func.name)) return true;
  return expr.kind === 'aggregate' || (expr.kind !== 'vector' && childrenOf(expr).every(isReduced));
}

function isShifted(expr: Expr): boolean {
  if ((expr.kind === 'vector' || expr.kind === 'subquery') && (expr.at !== null || milliseconds(expr.offset) !== 0)) {
    return true;
  }
  return childrenOf(expr).some(isShifted);
}
