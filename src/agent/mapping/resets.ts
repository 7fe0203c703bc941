import { isAddable } from '../otlp/admit.ts';
import type { PointBase } from '../otlp/model.ts';
import { componentKey, type Expanded, layoutOf, type Mode } from './components.ts';
import type { Series } from './series-table.ts';
import type { Stream } from './stream.ts';

/** Whether a counter was reset since its last point: its start time moved, or its value (a histogram's count) fell. */
export function isReset(stream: Stream, point: PointBase, values: readonly number[]): boolean {
  const { shape, values: last } = stream;
  if (shape.mode !== 'counter') return false;
  if (point.startNs !== stream.startNs && point.startNs !== 0 && stream.startNs !== 0) return true;
  const at = shape.kind === 'scalar' ? 0 : values.length - (shape.hasSum ? 2 : 1);
  return values[at]! < last[at]!;
}

/**
 * The next value of a counter. The counts of buckets converted from an exponential histogram may fall when the
 * histogram's scale falls. Then the earlier, larger value is kept.
 */
export function keptUp(series: Series | undefined, value: number, before: number): number {
  return value < before && !isSum(series) ? before : value;
}

/**
 * What a value of a level, or an increase of a counter, adds to a sum of several. NaN, infinities and values beyond
 * 1e15 add nothing: the sum would never be a number again, or what is small beside such a value would be lost from it
 * for good.
 */
export function addend(value: number): number {
  return isAddable(value) ? value : 0;
}

/**
 * Whether an increase of 1 counts beside this total. False for NaN. Totals may be beyond 1e15, because they have many
 * addends.
 */
export function countsOn(total: number): boolean {
  return Math.abs(total) <= Number.MAX_SAFE_INTEGER;
}

export function isSum(series: Series | undefined): boolean {
  return series?.component.suffix === '_sum';
}

/**
 * Inserts a zero before the point in each series of a restarted stream, if at least one of these series has samples
 * that would not show the reset.
 */
export function placeZero(stream: Stream, point: PointBase, values: readonly number[], tMs: number): void {
  const hidden = stream.series.some(
    (s, i) => !s.merged && (s.intervalMs > 0 || (stream.values[i]! > 0 && values[i]! >= stream.values[i]!)),
  );
  if (!hidden) return;
  for (const series of stream.series) {
    if (series.merged || series.total === 0) continue;
    const earliest = Math.max(series.lastMs, series.pendingMs, stream.endedMs) + 1;
    const zeroMs = Math.max(earliest, Math.min(Math.floor(point.startNs / 1e6), tMs - 1));
    if (zeroMs < tMs) series.zeroMs = zeroMs;
  }
}

/**
 * Notes the start time of a new stream. Before the first sample of a series it is kept with the series, of several
 * streams the earliest. A series whose values go both ways has no start time. A series that has just gone on from its
 * stored value counts a stream that started before from now on, because that value contains what it had counted. The
 * instrument reports all streams in each of its intervals, so all of them come within one interval. One and a half, and
 * a minute at least, allow for a late export.
 */
export function noteStart(
  { series, family, values: counted }: Stream,
  startNs: number,
  values: ArrayLike<number>,
  tMs: number,
  exportIntervalMs: number,
): void {
  const resumingMs = Math.max(60_000, 1.5 * exportIntervalMs);
  const startMs = Math.floor(startNs / 1e6);
  if (startMs <= 0 || startMs >= tMs || family.type === 'gauge') return;
  for (const [i, s] of series.entries()) {
    if (s.component.mode === 'level') continue;
    if (s.lastMs === 0 && s.resumedMs === 0) s.zeroMs = s.zeroMs === 0 ? startMs : Math.min(s.zeroMs, startMs);
    else if (startMs < s.resumedMs && tMs < s.resumedMs + resumingMs && counted[i] === 0) counted[i] = values[i]!;
  }
}

/**
 * For each series of a stream whose shape has changed, the value up to which the series has counted the stream.
 * For a counter that both shapes have, such as `_count`, it is the stream's last value. A series that others have fed
 * before, such as a bucket of the new bounds, counts the stream from now on: the past would be an increase of this
 * moment. A new series has counted nothing, and neither has any series if one of the shapes is not cumulative.
 */
export function countedSoFar(
  before: Pick<Stream, 'shape' | 'values'> & { readonly hadEnded: boolean },
  { shape, series }: Stream,
  values: readonly number[],
): Float64Array {
  const counted = new Float64Array(values.length);
  if (before.shape.mode !== 'counter' || shape.mode !== 'counter') return counted;
  const known = new Map(layoutOf(before.shape).components.map((component, i) => [componentKey(component), i]));
  for (const [i, component] of layoutOf(shape).components.entries()) {
    if (component.mode !== 'counter') continue;
    // A stream that had ended may find its series made anew.
    if (before.hadEnded && series[i]?.lastMs === 0) continue;
    const at = known.get(componentKey(component));
    if (at !== undefined) counted[i] = before.values[at]!;
    else if (series[i] && series[i].lastMs !== 0) counted[i] = values[i]!;
  }
  return counted;
}

/** How much a cumulative value or a level adds to a sum of several that has the value before. */
export function incrementOf(mode: Mode, value: number, before: number, reset: boolean): number {
  if (mode === 'level') return addend(value) - addend(before);
  return addend(reset && mode === 'counter' ? value : value - before);
}

/** Adds a point to the totals of a stream whose newest point lies in the future. Its series get no sample. */
export function countBehind(stream: Stream, { point, shape, values }: Expanded): void {
  const reset = isReset(stream, point, values);
  stream.startNs = point.startNs;
  for (let i = 0; i < values.length; i++) {
    const s = stream.series[i];
    const mode = s?.component.mode ?? shape.mode;
    const counts = mode === 'counter';
    const value = counts && !reset ? keptUp(s, values[i]!, stream.values[i]!) : values[i]!;
    const increment = incrementOf(mode, value, stream.values[i]!, reset);
    stream.values[i] = value;
    if (!s) continue;
    s.total = s.merged ? s.total + increment : value;
    if (counts && reset && !s.merged) s.zeroMs = Math.max(s.lastMs, s.pendingMs) + 1;
  }
}
