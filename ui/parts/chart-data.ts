/** Series as columns over one shared time axis, as the graph draws them. Pure. */
import { numberOf, type Series, type TimeRange } from '../api/promql.ts';

/** A graph has at most this many lines: more cannot be distinguished. */
export const maxLines = 50;

export interface Columns {
  /** The asked time range, which the axis shows whether or not there are values. Unit: s since the epoch. */
  readonly start: number;
  readonly end: number;
  /** Unit: s since the epoch, ascending, a step apart. */
  readonly times: readonly number[];
  /** One column per series. Where the series has no finite value, the column has null, which is drawn as a gap. */
  readonly columns: readonly (readonly (number | null)[])[];
}

/** The series over all times that were asked for: a time at which none has a value is a gap, too. */
export function columnsOf(series: readonly Series[], asked: TimeRange): Columns {
  const times = timesOf(asked);
  const columns = series.map((s) => {
    const column = new Array<number | null>(times.length).fill(null);
    for (const [t, v] of s.values ?? []) {
      const [i, number] = [placeOf(t, asked), numberOf(v)];
      if (i in column && Number.isFinite(number)) column[i] = number;
    }
    return column;
  });
  return { start: asked.start, end: asked.end, times, columns };
}

/** The server rounds times to milliseconds. Unit: s. */
const roundedBy = 0.001;

/** The times at which a range query is evaluated. Unit: s since the epoch. */
function timesOf({ start, end, step }: TimeRange): number[] {
  return Array.from({ length: Math.floor((end - start + roundedBy) / step) + 1 }, (_, i) => start + i * step);
}

const placeOf = (time: number, { start, step }: TimeRange): number => Math.round((time - start) / step);

/** The indices of values between two gaps, or between a gap and an end: a line connects them to nothing. */
export function isolated(column: ArrayLike<number | null | undefined>): number[] {
  const isGap = (i: number): boolean => (column[i] ?? null) === null;
  return Array.from(column, (_, i) => i).filter((i) => !isGap(i) && isGap(i - 1) && isGap(i + 1));
}

/** Each column stacked on those before it. A gap adds nothing; it stays a gap if the columns below are gaps, too. */
export function stacked(columns: Columns['columns']): (number | null)[][] {
  const below: (number | null)[] = [];
  return columns.map((column) =>
    column.map((value, i) => {
      if (value === null) return below[i] ?? null;
      return (below[i] = (below[i] ?? 0) + value);
    }),
  );
}

/** The values that a logarithmic axis can show: those above 0. */
export function positive(columns: Columns['columns']): (number | null)[][] {
  return columns.map((column) => column.map((value) => (value !== null && value > 0 ? value : null)));
}

/** A step that gives about 250 points, at least a second. Units: s. */
export function stepFor(seconds: number): number {
  return Math.max(1, Math.round(seconds / 250));
}

/** A heat map: the number of observations in each bucket at each time. */
export interface Heat {
  /** Unit: s since the epoch, ascending, a step apart. */
  readonly times: readonly number[];
  /** Bounds of the buckets of all series, ascending, maybe infinite; bucket i lies between bound i and i + 1. */
  readonly bounds: readonly number[];
  /** Observations by time, then by bucket. */
  readonly counts: readonly (readonly number[])[];
  readonly most: number;
}

/** The sum of a matrix's native histograms as a heat map of all times asked for; undefined if it has none. */
export function heatOf(series: readonly Series[], asked: TimeRange): Heat | undefined {
  const points = series.flatMap((s) => s.histograms ?? []);
  const buckets = points.flatMap(([, h]) => h.buckets ?? []);
  if (buckets.length === 0) return undefined;
  const bounds = [...new Set(buckets.flatMap(([, low, high]) => [numberOf(low), numberOf(high)]))].sort(
    (a, b) => a - b,
  );
  const times = timesOf(asked);
  const place = new Map(bounds.map((bound, i) => [bound, i]));
  const counts = times.map(() => new Array<number>(bounds.length - 1).fill(0));
  for (const [t, { buckets: own = [] }] of points) {
    const cells = counts[placeOf(t, asked)];
    if (cells === undefined) continue;
    for (const [, low, high, count] of own) {
      const [from, to] = [place.get(numberOf(low))!, place.get(numberOf(high))!];
      // A bucket that finer buckets divide is spread evenly over them.
      for (let i = from; i < to; i++) cells[i]! += numberOf(count) / (to - from);
    }
  }
  // Not one call of Math.max: so many arguments would not fit the stack.
  const most = counts.reduce((high, cells) => cells.reduce((a, b) => Math.max(a, b), high), 0);
  return { times, bounds, counts, most };
}
