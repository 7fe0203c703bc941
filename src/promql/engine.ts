import { Annotations } from './annotations.ts';
import { QueryError } from './errors.ts';
import { Budget, abortError } from './eval/budget.ts';
import {
  absent,
  isFloat,
  isHistogram,
  removeDelayedNames,
  sortColumns,
  type Column,
  type Value,
} from './eval/columns.ts';
import type { EvalContext, EvalSettings } from './eval/context.ts';
import { evaluate } from './eval/evaluate.ts';
import { rangeFrame, type Frame } from './eval/frame.ts';
import { findInvariant } from './eval/invariant.ts';
import { listDemands } from './eval/prefetch.ts';
import { rawSeries, type RawSeries } from './eval/raw-series.ts';
import { resolve, type QuerySpan } from './eval/resolve.ts';
import { statsOnlySelectors, withDefiniteHints } from './eval/stats-only.ts';
import { instantRange } from './eval/instant-range.ts';
import type { FloatHistogram } from './histogram/float-histogram.ts';
import { compareLabels } from './labels.ts';
import { typeOf, unwrapParens, type Expr, type VectorSelector } from './parser/ast.ts';
import { parse } from './parser/parser.ts';
import type {
  EngineOptions,
  MatrixSeries,
  QueryOptions,
  QueryResult,
  QueryValue,
  SelectRequest,
  SeriesSource,
  VectorElement,
} from './types.ts';

const defaultTimeoutMs = 120_000;
const defaultMaxSamples = 50_000_000;
const defaultLookbackMs = 300_000;
const defaultSubqueryStepMs = 60_000;

/**
 * Answers PromQL queries from a source of series.
 * Guarantees: the same query over the same series gives the same answer; nothing is kept between queries.
 * Errors: QueryError with `errorType` bad_data (does not parse), execution, timeout, canceled or internal (source).
 */
export class Engine {
  readonly #options: EngineOptions;

  constructor(options: EngineOptions = {}) {
    this.#options = options;
  }

  /** Evaluates a query at one time (milliseconds). Vectors, scalars, strings, and ranges of raw samples. */
  async instant(query: string | Expr, timeMs: number, options: QueryOptions): Promise<QueryResult> {
    const { text, expr } = this.#read(query);
    const span = { start: timeMs, end: timeMs, step: 0 };
    const run = this.#start(text, expr, span, { start: timeMs, step: 1, count: 1 }, options);
    return run.finish(async (context, resolved, frame) => {
      const inner = unwrapParens(resolved);
      if (inner.kind === 'matrix' || inner.kind === 'subquery') {
        return { type: 'matrix', series: await instantRange(context, inner, frame) };
      }
      return instantValue(context, await context.evaluate(resolved, frame), timeMs);
    });
  }

  /**
   * Evaluates a query at start, start + step, … ≤ end (milliseconds). The answer is a matrix sorted by labels.
   * Errors: also bad_data for a query whose type is neither scalar nor instant vector, or a step that is not positive.
   */
  async range(
    query: string | Expr,
    startMs: number,
    endMs: number,
    stepMs: number,
    options: QueryOptions,
  ): Promise<QueryResult> {
    const { text, expr } = this.#read(query);
    const type = typeOf(expr);
    if (type !== 'scalar' && type !== 'instant vector') {
      const message = `invalid expression type "${type}" for range query, must be Scalar or instant Vector`;
      throw new QueryError('bad_data', message);
    }
    if (!(stepMs > 0))
      throw new QueryError('bad_data', 'zero or negative query resolution step widths are not accepted');
    const span = { start: startMs, end: endMs, step: stepMs };
    const run = this.#start(text, expr, span, rangeFrame(startMs, endMs, stepMs), options);
    return run.finish(async (context, resolved, frame) => {
      if (frame.count === 0) return { type: 'matrix', series: [] };
      return rangeValue(context, await context.evaluate(resolved, frame), frame);
    });
  }

  #read(query: string | Expr): { text: string; expr: Expr } {
    return typeof query === 'string' ? { text: query, expr: parse(query, this.#options) } : { text: '', expr: query };
  }

  #start(text: string, expr: Expr, span: QuerySpan, frame: Frame, options: QueryOptions): Run {
    const own = this.#options;
    const settings: EvalSettings = {
      lookbackDeltaMs: options.lookbackDeltaMs ?? own.lookbackDeltaMs ?? defaultLookbackMs,
      defaultSubqueryStepMs: own.defaultSubqueryStepMs ?? (() => defaultSubqueryStepMs),
      delayedNameRemoval: own.delayedNameRemoval === true,
      startTimestamps: own.startTimestamps === true,
      typeAndUnitLabels: own.typeAndUnitLabels === true,
    };
    const budget = new Budget({
      maxSamples: own.maxSamples ?? defaultMaxSamples,
      timeoutMs: options.timeoutMs ?? own.timeoutMs ?? defaultTimeoutMs,
      monotonic: own.monotonic,
      signal: options.signal,
      yieldTurn: own.yieldTurn ?? (() => new Promise<void>((done) => setImmediate(done))),
    });
    return new Run(text, resolve(expr, span, text), frame, settings, budget, options);
  }
}

/** One query from its resolved tree to its answer. */
class Run {
  readonly #text: string;
  readonly #expr: Expr;
  readonly #frame: Frame;
  readonly #settings: EvalSettings;
  readonly #budget: Budget;
  readonly #options: QueryOptions;

  constructor(text: string, expr: Expr, frame: Frame, settings: EvalSettings, budget: Budget, options: QueryOptions) {
    this.#text = text;
    this.#expr = expr;
    this.#frame = frame;
    this.#settings = settings;
    this.#budget = budget;
    this.#options = options;
  }

  async finish(compute: (context: EvalContext, expr: Expr, frame: Frame) => Promise<QueryValue>): Promise<QueryResult> {
    const annotations = new Annotations();
    const { source, signal } = this.#options;
    this.#budget.check();
    const demands = listDemands(this.#expr, this.#frame, this.#settings);
    const statsOnly = statsOnlySelectors(this.#expr);
    const select = (request: SelectRequest): Promise<readonly RawSeries[]> => {
      const withSignal = signal === undefined ? request : { ...request, signal };
      return readSeries(source, withSignal, annotations, this.#budget, signal);
    };
    const reads = new Map<VectorSelector, Promise<readonly RawSeries[]>>();
    for (const { selector, request } of demands) {
      const found = select(request);
      const read = statsOnly.has(selector) ? found.then((series) => series.map(withDefiniteHints)) : found;
      // Evaluation may fail before it comes to this one; its own failure must not go unhandled then.
      read.catch(() => undefined);
      reads.set(selector, read);
    }
    const context: EvalContext = {
      settings: this.#settings,
      budget: this.#budget,
      annotations,
      series: (selector) => reads.get(selector)!,
      invariant: findInvariant(this.#expr),
      evaluate: (expr, frame) => evaluate(context, expr, frame),
      select,
    };
    const value = await compute(context, this.#expr, this.#frame);
    return {
      value,
      warnings: annotations.texts('warning', this.#text),
      infos: annotations.texts('info', this.#text),
      stats: { samplesRead: this.#budget.read, peakSamples: this.#budget.peak },
    };
  }
}

/** Asks the source for one selector's series, cut to the span and sorted by labels. */
async function readSeries(
  source: SeriesSource,
  request: SelectRequest,
  annotations: Annotations,
  budget: Budget,
  signal: AbortSignal | undefined,
): Promise<readonly RawSeries[]> {
  if (request.maxt < request.mint) return [];
  let result;
  try {
    result = await source.select(request);
  } catch (error) {
    if (error instanceof QueryError) throw error;
    if (signal?.aborted === true) throw abortError(signal);
    const reason = error instanceof Error ? error.message : String(error);
    throw new QueryError('internal', `expanding series: ${reason}`, { cause: error });
  }
  for (const warning of result.warnings ?? []) annotations.sourceWarning(warning);
  const series: RawSeries[] = [];
  for (const one of result.series) {
    const raw = rawSeries(one, request.mint, request.maxt);
    if (raw === null) continue;
    budget.read += raw.times.length;
    series.push(raw);
  }
  const inOrder = series.every((one, i) => i === 0 || compareLabels(series[i - 1]!.labels, one.labels) <= 0);
  return inOrder ? series : sortColumns(series);
}

function finalColumns(context: EvalContext, columns: Column[]): Column[] {
  return context.settings.delayedNameRemoval ? removeDelayedNames(columns) : columns;
}

function instantValue(context: EvalContext, value: Value, timestamp: number): QueryValue {
  if (value.kind === 'scalar') return { type: 'scalar', timestamp, value: value.values[0]! };
  if (value.kind === 'string') return { type: 'string', timestamp, value: value.text };
  const elements: VectorElement[] = [];
  for (const { labels, kinds, values, histograms } of finalColumns(context, value.columns)) {
    if (kinds[0] === isFloat) elements.push({ labels, timestamp, value: values[0]! });
    else if (kinds[0] === isHistogram) elements.push({ labels, timestamp, value: NaN, histogram: histograms![0]! });
  }
  return { type: 'vector', elements };
}

function rangeValue(context: EvalContext, value: Value, frame: Frame): QueryValue {
  const times = Float64Array.from({ length: frame.count }, (_, i) => frame.start + i * frame.step);
  if (value.kind === 'scalar') {
    return { type: 'matrix', series: [{ labels: [], timestamps: times, values: value.values, histograms: [] }] };
  }
  if (value.kind === 'string') throw new QueryError('bad_data', 'a string has no range');
  const columns = sortColumns(finalColumns(context, value.columns));
  return { type: 'matrix', series: columns.map((column) => matrixSeries(column, times)).filter((s) => s !== null) };
}

/** A column as a series of the answer; null when it holds nothing. */
function matrixSeries(column: Column, times: Float64Array): MatrixSeries | null {
  const { labels, kinds, values } = column;
  let floats = 0;
  for (const kind of kinds) if (kind === isFloat) floats++;
  if (floats === kinds.length) return { labels, timestamps: times, values, histograms: [] };
  const timestamps = new Float64Array(floats);
  const picked = new Float64Array(floats);
  const histograms: { timestamp: number; histogram: FloatHistogram }[] = [];
  let n = 0;
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] === absent) continue;
    if (kinds[i] === isHistogram) histograms.push({ timestamp: times[i]!, histogram: column.histograms![i]! });
    else {
      timestamps[n] = times[i]!;
      picked[n++] = values[i]!;
    }
  }
  return floats + histograms.length === 0 ? null : { labels, timestamps, values: picked, histograms };
}
