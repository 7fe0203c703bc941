import { UsageError } from '../errors.ts';
import { durationFlag, niceStep, timeFlag } from './times.ts';

export interface TimeFlags {
  time?: string;
  since?: string;
  start?: string;
  end?: string;
  step?: string;
}

/** The range of a range query. Units: ms. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly stepMs: number;
}

/** The most points of one series that the query server accepts. */
const maxPoints = 11_000;

/**
 * The range that the flags ask for; undefined if they ask for a single moment. Without `--step` it has at most about
 * `points` points.
 * Errors: UsageError for flags that exclude each other or a range that is empty.
 */
export function rangeOf(flags: TimeFlags, now: number, points: number): Range | undefined {
  const { time, since, start, end, step } = flags;
  if (since === undefined && start === undefined) {
    const stray = end === undefined ? (step === undefined ? undefined : '--step') : '--end';
    if (stray !== undefined)
      throw new UsageError(`${stray} is for a range: say where it begins with --since or --start`);
    return undefined;
  }
  if (time !== undefined) throw new UsageError('--time is for one moment: a range has --end');
  if (since !== undefined && start !== undefined) throw new UsageError('--since and --start exclude each other');
  const to = end === undefined ? now : timeFlag(end, '--end', now);
  const from = since === undefined ? timeFlag(start!, '--start', now) : to - durationFlag(since, '--since');
  if (from >= to) throw new UsageError('the range is empty: it begins at or after its end');
  const stepMs = step === undefined ? niceStep(to - from, points) : durationFlag(step, '--step');
  if ((to - from) / stepMs > maxPoints)
    throw new UsageError(
      `--step is too small: a series may have ${maxPoints} points`,
      'make it larger, or the range shorter',
    );
  return { start: from, end: to, stepMs };
}
