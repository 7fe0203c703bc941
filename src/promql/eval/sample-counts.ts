import type { Budget } from './budget.ts';
import type { Frame, Timing } from './frame.ts';
import type { WindowGrid } from './range/window-grid.ts';
import { SampleCounter } from './sample-counter.ts';
import type { RangeSeries } from './select/raw-series.ts';

/**
 * The frame (the steps of an evaluation) with a counter of samples, if wanted. The budget is charged the memory of one
 * sample for each step.
 */
export function countedFrame(frame: Frame, budget: Budget, isWanted: boolean): Frame {
  if (!isWanted) return frame;
  budget.hold(frame.count);
  return { ...frame, samples: new SampleCounter(frame.count) };
}

/**
 * Counts the samples in the windows of a function over one series. The points of a subquery do not count as read: the
 * samples below it do (`countReadsBelow`).
 */
export function countWindows(
  { samples: counter }: Frame,
  grid: WindowGrid,
  { floats, histograms }: RangeSeries,
  ofSubquery: boolean,
): void {
  if (counter === undefined) return;
  for (const samples of [histograms, floats]) {
    if (samples === null) continue;
    grid.lay(samples.times);
    const { from, to } = grid;
    let seen = 0;
    for (let step = 0; step < to.length; step++) {
      counter.queryable[step]! += to[step]! - from[step]!;
      if (!ofSubquery) counter.read[step]! += to[step]! - Math.max(from[step]!, seen);
      seen = to[step]!;
    }
  }
}

/**
 * Counts the samples that were read below a subquery. Those of a subquery step count for the first outer step whose
 * window contains the subquery step. Subquery steps between two windows are dropped; a single outer step gets all.
 */
export function countReadsBelow(inner: Frame, { offset }: Timing, range: number, outer: Frame): void {
  const { start, step, count, samples } = outer;
  if (samples === undefined || inner.samples === undefined) return;
  for (const [k, reads] of inner.samples.read.entries()) {
    const time = inner.start + k * inner.step + offset;
    const first = time > start && count > 1 ? Math.ceil((time - start) / step) : 0;
    const at = Math.min(first, count - 1);
    const isBetween = count > 1 && time <= start + at * step - range;
    if (!isBetween) samples.read[at]! += reads;
  }
}
