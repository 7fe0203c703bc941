import type { SeriesRef } from '../../tsdb/index.ts';
import type { Exemplar, PointBase } from '../otlp/model.ts';
import type { Series } from './series-table.ts';
import type { Stream } from './stream.ts';

/** A series as the store knows it, with the newest exemplar of its samples. */
export interface SampledSeries extends SeriesRef {
  readonly exemplar?: Exemplar | null;
}

/** Where samples go: the store. Times in ms since the epoch. */
export interface SampleSink {
  append(series: SampledSeries, tMs: number, value: number): void;
  /** Ends the series at that time. */
  stale(series: SeriesRef, tMs: number): void;
}

/** Hands out the sample of a series that waits, with the zero before it that shows a reset. Returns how many samples. */
export function handOut(series: Series, sink: SampleSink): number {
  if (series.pendingMs === 0) return 0;
  const { intervalMs, lastMs, pendingMs } = series;
  // One sample in each stretch of the interval: stretches are those of the clock, so that late exports do not add up.
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

/** The newest value of a series that ends, where its turn had not come. */
export function handOutSkipped(series: Series, sink: SampleSink): void {
  if (series.skippedMs === 0) return;
  if (series.zeroMs !== 0) sink.append(series, series.zeroMs, 0);
  sink.append(series, series.skippedMs, series.total);
  series.lastMs = series.skippedMs;
  series.skippedMs = 0;
  series.zeroMs = 0;
}

/** A counter began anew: its start time moved, or its value (a histogram's count) fell. */
export function isReset(stream: Stream, point: PointBase, values: readonly number[]): boolean {
  const { shape, values: last } = stream;
  if (shape.mode !== 'counter') return false;
  if (point.startNs !== stream.startNs && point.startNs !== 0 && stream.startNs !== 0) return true;
  const at = shape.kind === 'scalar' ? 0 : values.length - (shape.hasSum ? 2 : 1);
  return values[at]! < last[at]!;
}

/** The next value of a counter: buckets converted from an exponential histogram may fall when its scale does, and never really fell. */
export function keptUp(series: Series | undefined, value: number, before: number): number {
  return value < before && !isSum(series) ? before : value;
}

function isSum(series: Series | undefined): boolean {
  return series?.component.suffix === '_sum';
}
