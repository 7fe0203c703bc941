import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import type { DeferredSeries, Labels, Samples, Series } from '../../types.ts';
import type { Budget } from '../budget.ts';
import { absent, histogramWeight, isHistogram, type Column } from '../columns.ts';
import type { Frame } from '../frame.ts';

/** High and low word of the stale marker 0x7ff0000000000002. */
const staleHigh = 0x7ff00000;
const staleLow = 2;

/** The floats of one series, without stale markers. */
export interface FloatSamples {
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** The counter's start time at each sample; null when unknown. */
  readonly startTimes: Float64Array | null;
}

/** The histograms of one series, without stale markers. */
export interface HistogramSamples {
  readonly times: Float64Array;
  readonly values: readonly FloatHistogram[];
  readonly startTimes: Float64Array | null;
}

/** One series of a range, floats and histograms apart, as range functions read it. */
export interface RangeSeries {
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly floats: FloatSamples;
  readonly histograms: HistogramSamples | null;
}

/** One series from the source, including its stale markers; `stale` shows where they are. */
export interface RawSeries {
  readonly labels: Labels;
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** null when the series has no histogram. */
  readonly histograms: readonly (FloatHistogram | null)[] | null;
  readonly startTimes: Float64Array | null;
  /** stale[i] = 1 for a stale marker; null when there is none. */
  readonly stale: Uint8Array | null;
}

/** One series of a selector. Its samples are valid until the next series is opened or other work gets a turn. */
export interface SelectedSeries {
  readonly labels: Labels;
  /** null when the span contains no sample. */
  open(): RawSeries | null;
}

/** The context of the series of one selector: their span and cached views. */
export class Selection {
  readonly mint: number;
  readonly maxt: number;
  readonly budget: Budget;
  readonly times = new View();
  readonly values = new View();

  constructor(span: { readonly mint: number; readonly maxt: number }, budget: Budget) {
    this.mint = span.mint;
    this.maxt = span.maxt;
    this.budget = budget;
  }

  /** A source's series, cut to the span; null for one that is known to be empty. The budget counts its samples. */
  select(series: Series | DeferredSeries): SelectedSeries | null {
    if ('read' in series) return new DeferredSelected(series, this);
    const raw = cut(series.labels, series, this);
    if (raw === null) return null;
    this.budget.read += raw.times.length;
    this.budget.hold(weightOfRaw(raw));
    return { labels: series.labels, open: () => raw };
  }
}

class DeferredSelected implements SelectedSeries {
  readonly labels: Labels;
  readonly #series: DeferredSeries;
  readonly #selection: Selection;
  #counted = false;

  constructor(series: DeferredSeries, selection: Selection) {
    this.labels = series.labels;
    this.#series = series;
    this.#selection = selection;
  }

  open(): RawSeries | null {
    const raw = cut(this.labels, this.#series.read(), this.#selection);
    if (raw !== null && !this.#counted) this.#selection.budget.read += raw.times.length;
    this.#counted = true;
    return raw;
  }
}

function weightOfRaw({ times, histograms }: RawSeries): number {
  let weight = times.length;
  for (const histogram of histograms ?? []) if (histogram !== null) weight += histogramWeight(histogram);
  return weight;
}

/**
 * Cuts a part out of a column. The last part is cached: series that are decoded into the same buffers mostly have the
 * same part.
 */
class View {
  #of: Float64Array | null = null;
  #from = 0;
  #view: Float64Array | null = null;

  cut(column: Float64Array, from: number, to: number): Float64Array {
    if (from === 0 && to === column.length) return column;
    const known = this.#view;
    if (known !== null && column === this.#of && from === this.#from && to - from === known.length) return known;
    this.#of = column;
    this.#from = from;
    return (this.#view = column.subarray(from, to));
  }
}

/** A copy of a series in buffers of its own, to be kept while others are opened. */
export function keptSeries(raw: RawSeries): RawSeries {
  // `slice` copies bits, so that each NaN keeps its own. The other fields are in no shared buffer.
  const { times, values, startTimes } = raw;
  return { ...raw, times: times.slice(), values: values.slice(), startTimes: startTimes?.slice() ?? null };
}

/** The samples within the span; null when there is none. Copies no numbers where a view of the arrays is enough. */
function cut(labels: Labels, series: Samples, selection: Selection): RawSeries | null {
  const { mint, maxt } = selection;
  const { timestamps } = series;
  const from = timestamps.length > 0 && timestamps[0]! >= mint ? 0 : lowerBound(timestamps, mint);
  const to = timestamps[timestamps.length - 1]! <= maxt ? timestamps.length : lowerBound(timestamps, maxt + 1);
  if (from >= to) return null;
  const values = selection.values.cut(series.values, from, to);
  const histograms = series.histograms?.slice(from, to) ?? null;
  return {
    labels,
    times: selection.times.cut(timestamps, from, to),
    values,
    histograms: histograms?.some((h) => h !== null) === true ? histograms : null,
    startTimes: series.startTimestamps?.subarray(from, to) ?? null,
    stale: findStale(values, histograms),
  };
}

/** The first index whose time is not below `time`. */
export function lowerBound(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function findStale(values: Float64Array, histograms: readonly (FloatHistogram | null)[] | null): Uint8Array | null {
  let words: Uint32Array | null = null;
  let stale: Uint8Array | null = null;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value === value) continue;
    // The words need the offset of `values` in its buffer. Bits must be read in place: copying a NaN may change them.
    words ??= new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
    if (words[2 * i + 1] === staleHigh && words[2 * i] === staleLow && (histograms?.[i] ?? null) === null) {
      stale ??= new Uint8Array(values.length);
      stale[i] = 1;
    }
  }
  return stale;
}

/** A raw series in the form of range functions: without stale markers, floats and histograms apart. */
export function toRangeSeries(raw: RawSeries): RangeSeries {
  if (raw.stale === null && raw.histograms === null) {
    const floats = { times: raw.times, values: raw.values, startTimes: raw.startTimes };
    return { labels: raw.labels, dropName: false, floats, histograms: null };
  }
  const floats: number[] = [];
  const histograms: number[] = [];
  for (let i = 0; i < raw.times.length; i++) {
    if (raw.stale?.[i] === 1) continue;
    ((raw.histograms?.[i] ?? null) === null ? floats : histograms).push(i);
  }
  const pick = (from: Float64Array, indexes: number[]): Float64Array => Float64Array.from(indexes, (i) => from[i]!);
  const starts = (indexes: number[]): Float64Array | null =>
    raw.startTimes === null ? null : pick(raw.startTimes, indexes);
  return {
    labels: raw.labels,
    dropName: false,
    floats: { times: pick(raw.times, floats), values: pick(raw.values, floats), startTimes: starts(floats) },
    histograms:
      histograms.length === 0
        ? null
        : {
            times: pick(raw.times, histograms),
            values: histograms.map((i) => raw.histograms![i]!),
            startTimes: starts(histograms),
          },
  };
}

/** An evaluated column as the range of a subquery. */
export function columnToRange(column: Column, frame: Frame): RangeSeries {
  const { kinds, values } = column;
  let floats = 0;
  let histograms = 0;
  for (const kind of kinds) {
    if (kind === isHistogram) histograms++;
    else if (kind !== absent) floats++;
  }
  const floatTimes = new Float64Array(floats);
  const floatValues = new Float64Array(floats);
  const histogramTimes = new Float64Array(histograms);
  const histogramValues: FloatHistogram[] = [];
  let n = 0;
  for (let step = 0; step < frame.count; step++) {
    const kind = kinds[step];
    if (kind === absent) continue;
    const time = frame.start + step * frame.step;
    if (kind === isHistogram) {
      const histogram = column.histograms![step]!;
      const known = histogram.counterReset === 'reset' || histogram.counterReset === 'not_reset';
      histogramTimes[histogramValues.length] = time;
      // A hint on a counter reset is about the sample before, which the subquery may not return.
      histogramValues.push(known ? { ...histogram, counterReset: 'unknown' } : histogram);
    } else {
      floatTimes[n] = time;
      floatValues[n++] = values[step]!;
    }
  }
  return {
    labels: column.labels,
    dropName: column.dropName,
    floats: { times: floatTimes, values: floatValues, startTimes: null },
    histograms: histograms === 0 ? null : { times: histogramTimes, values: histogramValues, startTimes: null },
  };
}
