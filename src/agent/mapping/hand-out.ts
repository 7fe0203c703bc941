import type { SeriesRef } from '../../tsdb/index.ts';
import type { Exemplar } from '../otlp/model.ts';
import { countsOn, isSum } from './resets.ts';
import type { Group, Series } from './series-table.ts';

/** A series as the store knows it, with its newest exemplar. */
export interface SampledSeries extends SeriesRef {
  readonly exemplar?: Exemplar | null;
}

/** The receiver of samples: the store. Times in ms since the epoch. */
export interface SampleSink {
  append(series: SampledSeries, tMs: number, value: number): void;
  /** Ends the series at that time with a stale marker. */
  stale(series: SeriesRef, tMs: number): void;
  /**
   * Reports when the counter of a series began to count. Called before its first sample: samples that the store holds
   * from before that time belong to an earlier counter.
   */
  start(series: SampledSeries, startMs: number): void;
  /**
   * The newest value of a series that an earlier process has stored since that time; NaN for none. Called before the
   * first sample of a series.
   */
  stored(series: SampledSeries, sinceMs: number): number;
}

/**
 * Hands the waiting sample of a series to the sink. If the counter was reset, a zero that makes the reset visible comes
 * first. Returns 1, or 0 when no sample waits or the window of the sample already has one.
 */
export function handOut(series: Series, sink: SampleSink): number {
  if (series.pendingMs === 0) return 0;
  const { intervalMs, lastMs, pendingMs } = series;
  // At most one sample in each window, which is as long as the interval. Windows are aligned to the clock, so that the
  // delays of exports do not add up.
  if (intervalMs > 0 && lastMs !== 0 && Math.floor(pendingMs / intervalMs) <= Math.floor(lastMs / intervalMs)) {
    series.skippedMs = pendingMs;
    series.pendingMs = 0;
    return 0;
  }
  series.skippedMs = 0;
  showReset(series, sink);
  sink.append(series, series.pendingMs, series.total);
  series.lastMs = series.pendingMs;
  series.pendingMs = 0;
  series.zeroMs = 0;
  return 1;
}

/** Hands out the newest value of a series that ends, if that value was skipped because its window had a sample. */
export function handOutSkipped(series: Series, sink: SampleSink): void {
  if (series.skippedMs === 0) return;
  showReset(series, sink);
  sink.append(series, series.skippedMs, series.total);
  series.lastMs = series.skippedMs;
  series.skippedMs = 0;
  series.zeroMs = 0;
}

/**
 * Makes a reset before a waiting sample visible. Before the first sample only the store knows whether it holds values
 * of an earlier counter, so the store decides whether a zero is needed.
 */
function showReset(series: Series, sink: SampleSink): void {
  if (series.zeroMs === 0) return;
  if (series.lastMs !== 0) sink.append(series, series.zeroMs, 0);
  else begin(series.group, series.pendingMs, sink);
}

/**
 * Begins all series of a group that have no sample yet. Their totals go on from their stored values if an earlier
 * process has stored a larger one of any of them since the counters started. Then it had counted streams that have
 * ended, or that this process has not heard of yet. All buckets of a histogram do the same, so that they count the same
 * streams. The sum of its values shows nothing: it may fall. A stored value beside which increases are lost counts as
 * none: that series shows a reset.
 */
function begin({ series: all }: Group, tMs: number, sink: SampleSink): void {
  const fresh = all.filter(({ lastMs, zeroMs }) => lastMs === 0 && zeroMs !== 0);
  const stored = fresh.map((s) => (s.component.mode === 'counter' ? sink.stored(s, s.zeroMs) : NaN));
  const goesOn = fresh.some((s, i) => !isSum(s) && countsOn(stored[i]!) && stored[i]! > s.total);
  for (const [i, series] of fresh.entries()) {
    if (goesOn && countsOn(stored[i]!)) {
      series.total = stored[i]!;
      series.merged = true;
      series.resumedMs = tMs;
    } else if (!series.merged) sink.start(series, series.zeroMs);
    series.zeroMs = 0;
  }
}
