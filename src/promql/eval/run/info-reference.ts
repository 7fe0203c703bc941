import { childrenOf, typeOf, type Expr } from '../../parser/ast.ts';
import type { Timing } from '../frame.ts';
import { timingOf } from '../resolve.ts';

/**
 * The evaluation time at which info series are read: the one that all selectors of the expression share. It is the
 * step's own time when the selectors differ or when a part of the expression has no selector.
 */
export function infoReference(expr: Expr): Timing {
  return sharedReference(expr) ?? { at: null, offset: 0 };
}

/** The evaluation time that all selectors of an expression share; null when they differ or a part has no selector. */
export function sharedReference(expr: Expr): Timing | null {
  const found: Timing[] = [];
  const free = { value: false };
  collect(expr, [], found, free);
  const [first] = found;
  if (first === undefined || free.value) return null;
  return found.every((other) => sameReference(first, other)) ? first : null;
}

function sameReference(a: Timing, b: Timing): boolean {
  if (a.at === null || b.at === null) return a.at === b.at && a.offset === b.offset;
  return a.at - a.offset === b.at - b.offset;
}

/**
 * Adds the evaluation times of all selectors to `found`, and sets `free` when a vector among the parts has no selector.
 * True when the expression contains a selector.
 */
function collect(expr: Expr, outer: readonly Timing[], found: Timing[], free: { value: boolean }): boolean {
  const type = typeOf(expr);
  if (type !== 'instant vector' && type !== 'range vector') return false;
  if (expr.kind === 'vector') {
    let { at, offset } = timingOf(expr);
    for (let i = outer.length - 1; at === null && i >= 0; i--) {
      offset += outer[i]!.offset;
      at = outer[i]!.at;
    }
    found.push({ at, offset });
    return true;
  }
  const path = expr.kind === 'subquery' ? [...outer, timingOf(expr)] : outer;
  const isInfo = expr.kind === 'call' && expr.func.name === 'info';
  const children = isInfo ? childrenOf(expr).slice(0, 1) : childrenOf(expr);
  const has = children.map((child) => collect(child, path, found, free)).some(Boolean);
  if (!has) free.value = true;
  return has;
}
