import type { SeriesRef } from '../../tsdb/index.ts';
import type { Exemplar, PointBase } from '../otlp/model.ts';
import type { Series } from './series-table.ts';
import type { Stream } from './stream.ts';

/** A series as the store knows it, with its newest exemplar. */
export interface SampledSeries extends SeriesRef {
  readonly exemplar?: Exemplar | null;
}

/** The receiver of samples: the store. Times in ms since the epoch. */
export interface SampleSink {
  append(series: SampledSeries, tMs: number, value: number): void;
  /** Ends the series at that time with a stale marker. */
  stale(series: SeriesRef, tMs: number): void;
}

/**
 * Hands out the waiting sample of a series, with the zero before it that makes a reset visible. Returns the number of
 * samples.
 */
export function handOut(series: Series, sink: SampleSink): number {
  if (series.pendingMs === 0) return 0;
  const { intervalMs, lastMs, pendingMs } = series;
  // One sample in each window of the interval. Windows are aligned to the clock, so that late exports do not add up.
  if (intervalMs > 0 && lastMs !== 0 && Math.floor(pendingMs / intervalMs) <= Math.floor(lastMs / intervalMs)) {
    series.skippedMs = pendingMs;
    series.pendingMs = 0;
    return 0;
  }
  series.skippedMs = 0;
  if (series.zeroMs !== 0) sink.append(series, series.zeroMs, 0);
  sink.append(series, series.pendingMs, series.total);
  series.lastMs = series.pendingMs;
  series.pendingMs = 0;
  series.zeroMs = 0;
  return 1;
}

/** The newest value of an ending series, if its window had not come yet. */
export function handOutSkipped(series: Series, sink: SampleSink): void {
  if (series.skippedMs === 0) return;
  if (series.zeroMs !== 0) sink.append(series, series.zeroMs, 0);
  sink.append(series, series.skippedMs, series.total);
  series.lastMs = series.skippedMs;
  series.skippedMs = 0;
  series.zeroMs = 0;
}

/** A counter was reset: its start time moved, or its value (a histogram's count) fell. */
export function isReset(stream: Stream, point: PointBase, values: readonly number[]): boolean {
  const { shape, values: last } = stream;
  if (shape.mode !== 'counter') return false;
  if (point.startNs !== stream.startNs && point.startNs !== 0 && stream.startNs !== 0) return true;
  const at = shape.kind === 'scalar' ? 0 : values.length - (shape.hasSum ? 2 : 1);
  return values[at]! < last[at]!;
}

/**
 * The next value of a counter. Buckets converted from an exponential histogram may fall when its scale does; the larger
 * value is kept.
 */
export function keptUp(series: Series | undefined, value: number, before: number): number {
  return value < before && !isSum(series) ? before : value;
}

function isSum(series: Series | undefined): boolean {
  return series?.component.suffix === '_sum';
}
