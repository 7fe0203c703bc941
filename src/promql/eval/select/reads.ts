import { childrenOf, type CallExpr, type Expr } from '../../parser/ast.ts';
import type { SelectRequest } from '../../types.ts';
import type { EvalSettings } from '../context.ts';
import { referenceTime, subqueryFrame, type Frame } from '../frame.ts';
import { infoReference } from '../run/info-reference.ts';
import { listDemands } from './prefetch.ts';
import { milliseconds, timingOf } from '../resolve.ts';

/** The series and the time range that a query reads. Times are inclusive milliseconds. */
export type QueryRead = Pick<SelectRequest, 'matchers' | 'mint' | 'maxt'>;

/**
 * All reads of a resolved query: one for each selector, and one for each info(), which reads series that no selector
 * names.
 */
export function listReads(expr: Expr, frame: Frame, settings: EvalSettings): QueryRead[] {
  const reads: QueryRead[] = listDemands(expr, frame, settings).map(({ request }) => request);
  addInfos(expr, frame, settings, reads);
  return reads.filter(({ mint, maxt }) => mint <= maxt);
}

function addInfos(expr: Expr, frame: Frame, settings: EvalSettings, reads: QueryRead[]): void {
  let inner = frame;
  let children = childrenOf(expr);
  if (expr.kind === 'subquery') {
    inner = subqueryFrame(frame, timingOf(expr), milliseconds(expr.range), milliseconds(expr.step!));
  } else if (expr.kind === 'call' && expr.func.name === 'info') {
    children = children.slice(0, 1);
    if (frame.count > 0) reads.push(infoRead(expr, frame, settings));
  }
  for (const child of children) addInfos(child, inner, settings, reads);
}

function infoRead({ args }: CallExpr, frame: Frame, { lookbackDeltaMs }: EvalSettings): QueryRead {
  const timing = infoReference(args[0]!);
  const matchers = args[1]?.kind === 'vector' ? args[1].matchers : [];
  const mint = referenceTime(frame, timing, 0) - lookbackDeltaMs + 1;
  return { matchers, mint, maxt: referenceTime(frame, timing, frame.count - 1) };
}
