import type { Frame } from '../eval/frame.ts';

/** A subquery as the query around it sees it. Units: milliseconds; a range of 0 stands for no window. */
export interface InnerSteps {
  readonly frame: Frame;
  readonly offset: number;
  readonly range: number;
}

/**
 * What the steps of a subquery read, at the steps of the query around it: each at the first that looks at it, those
 * between two windows not at all. A query of one step has all of it.
 */
export function readsOfSubquery(read: Float64Array, inner: InnerSteps, outer: Frame): Float64Array {
  const { start, step, count } = outer;
  const total = new Float64Array(count);
  for (let k = 0; k < read.length; k++) {
    const time = inner.frame.start + k * inner.frame.step + inner.offset;
    const first = time > start && count > 1 ? Math.ceil((time - start) / step) : 0;
    const at = Math.min(first, count - 1);
    const isBetween = count > 1 && inner.range > 0 && time <= start + at * step - inner.range;
    if (!isBetween) total[at]! += read[k]!;
  }
  return total;
}
