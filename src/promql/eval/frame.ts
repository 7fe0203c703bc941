import type { SampleCounter } from './sample-counter.ts';

/** The `count` steps at which an expression is evaluated: start, start + step, … Units: milliseconds. */
export interface Steps {
  readonly start: number;
  readonly step: number;
  readonly count: number;
  /** The end of the time span that the steps represent; it may lie after the last step. */
  readonly end?: number;
}

/** The steps of a running evaluation. */
export interface Frame extends Steps {
  /** Counts the samples that are read for these steps. Default: they are not counted. */
  readonly samples?: SampleCounter | undefined;
}

/** True when a frame represents a time span, even if only one step falls into the span. */
export function spansTime(frame: Frame): boolean {
  return frame.count > 1 || (frame.end ?? frame.start) !== frame.start;
}

/** The frame of a range query; empty when end lies before start. */
export function rangeFrame(start: number, end: number, step: number): Frame {
  return { start, step, count: end < start ? 0 : Math.floor((end - start) / step) + 1, end };
}

/** The last step of a frame. */
export function frameEnd(frame: Frame): number {
  return frame.start + (frame.count - 1) * frame.step;
}

/** The evaluation time of a selector or subquery: each step or one fixed time, shifted back by `offset`. */
export interface Timing {
  readonly at: number | null;
  readonly offset: number;
}

/** The time at which a selector or subquery is evaluated for a step, after its `@` and offset. */
export function referenceTime(frame: Frame, timing: Timing, step: number): number {
  return (timing.at ?? frame.start + step * frame.step) - timing.offset;
}

/**
 * The steps of a subquery: all multiples of its step that lie after the start of the first window and not after the
 * end of the last one.
 */
export function subqueryFrame(frame: Frame, timing: Timing, range: number, step: number): Frame {
  const first = referenceTime(frame, timing, 0);
  const last = referenceTime(frame, timing, frame.count - 1);
  let start = step * Math.trunc((first - range) / step);
  if (start <= first - range) start += step;
  return rangeFrame(start, last, step);
}
