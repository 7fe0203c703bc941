import type { Pacing } from '../../../base/turns/turns.ts';
import type { Annotations } from '../../annotations.ts';
import type { Position } from '../../errors.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { metricName } from '../../labels.ts';
import type { HistogramSamples, RangeSeries } from '../select/raw-series.ts';

const noTimes = new Float64Array(0);
const noHistograms: HistogramSamples = { times: noTimes, values: [], startTimes: null };

/**
 * The input of a range function at one step: the samples of one series in (start, end]. One object is moved over all
 * steps of a series; functions read `from … to` of the shared arrays and write `result` or `histogramResult`.
 */
export class Window {
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly startTimes: Float64Array | null;
  readonly histogramTimes: Float64Array;
  readonly histograms: readonly FloatHistogram[];
  readonly histogramStartTimes: Float64Array | null;
  readonly position: Position;
  readonly annotations: Annotations;
  /** Paces the work on histograms, of which a window may hold very many. */
  readonly pacing: Pacing;
  readonly extension: 'anchored' | 'smoothed' | null;
  readonly #series: RangeSeries;
  /** Length of the range in milliseconds. */
  readonly range: number;
  from = 0;
  to = 0;
  histogramFrom = 0;
  histogramTo = 0;
  /**
   * Bounds of the range in milliseconds. Samples lie in (start, end]; anchored and smoothed ranges include samples
   * outside these bounds, too.
   */
  start = 0;
  end = 0;
  /** Time of the step in milliseconds. */
  time = 0;
  /** Values of the scalar arguments at this step. */
  params: number[] = [];
  result = 0;
  histogramResult: FloatHistogram | null = null;

  constructor(
    series: RangeSeries,
    range: number,
    shared: {
      readonly position: Position;
      readonly annotations: Annotations;
      readonly pacing: Pacing;
      readonly extension: 'anchored' | 'smoothed' | null;
    },
  ) {
    this.#series = series;
    this.range = range;
    this.times = series.floats.times;
    this.values = series.floats.values;
    this.startTimes = series.floats.startTimes;
    const histograms = series.histograms ?? noHistograms;
    this.histogramTimes = histograms.times;
    this.histograms = histograms.values;
    this.histogramStartTimes = histograms.startTimes;
    this.position = shared.position;
    this.annotations = shared.annotations;
    this.pacing = shared.pacing;
    this.extension = shared.extension;
  }

  get floatCount(): number {
    return this.to - this.from;
  }

  get histogramCount(): number {
    return this.histogramTo - this.histogramFrom;
  }

  get metric(): string {
    return metricName(this.#series.labels);
  }

  /** Sets a float as the result. */
  float(value: number): true {
    this.result = value;
    this.histogramResult = null;
    return true;
  }

  /** Sets a histogram as the result. */
  histogram(value: FloatHistogram): true {
    this.histogramResult = value;
    return true;
  }

  /** Warns that floats and histograms are mixed; the step has no result. */
  mixed(): false {
    const name = JSON.stringify(this.metric);
    this.annotations.warn(`encountered a mix of histograms and floats for metric name ${name}`, this.position);
    return false;
  }

  /** Annotates that histograms were ignored in a range with floats. */
  ignoredHistograms(): void {
    const name = JSON.stringify(this.metric);
    this.annotations.info(
      `ignored histograms in a range containing both floats and histograms for metric name ${name}`,
      this.position,
    );
  }
}

/**
 * A function of a range: true when the step has a result (written to the window). Functions that read many histograms
 * answer with a promise, because other work gets turns meanwhile.
 */
export type RangeFunction = (window: Window) => boolean | Promise<boolean>;
