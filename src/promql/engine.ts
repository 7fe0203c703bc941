import { turns } from '../base/turns/turns.ts';
import { QueryError } from './errors.ts';
import { Budget } from './eval/budget.ts';
import {
  absent,
  inLabelOrder,
  isFloat,
  isHistogram,
  removeDelayedNames,
  type Column,
  type Value,
} from './eval/columns.ts';
import type { EvalContext, EvalSettings } from './eval/context.ts';
import { refuseTooManySteps } from './eval/run/estimate.ts';
import { rangeFrame, type Frame } from './eval/frame.ts';
import { instantRange } from './eval/select/instant-range.ts';
import { instantValue } from './eval/select/instant-value.ts';
import { listReads, type QueryRead } from './eval/select/reads.ts';
import { resolve, type QuerySpan } from './eval/resolve.ts';
import { openRun, type RunInput } from './eval/run/run.ts';
import { countedFrame } from './eval/sample-counts.ts';
import type { FloatHistogram } from './histogram/float-histogram.ts';
import { typeOf, unwrapParens, type Expr } from './parser/ast.ts';
import { ParseCache } from './parser/parse-cache.ts';
import type { QueryOptions } from './query-options.ts';
import type { EngineOptions, MatrixSeries, QueryResult, QueryValue } from './types.ts';

const defaultTimeoutMs = 120_000;
const defaultMaxSamples = 50_000_000;
const defaultLookbackMs = 300_000;
const defaultSubqueryStepMs = 60_000;

/**
 * Answers PromQL queries from a source of series.
 * Guarantees: the same query over the same series gives the same answer; between queries, only data derived from their
 * texts is kept.
 * Errors: QueryError with `errorType` bad_data (does not parse), execution, timeout, canceled or internal (source).
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #trees: ParseCache;

  constructor(options: EngineOptions = {}) {
    this.#options = options;
    this.#trees = new ParseCache(options);
  }

  /**
   * Evaluates a query at one time (milliseconds). The answer is a vector, a scalar or a string; for a range selector or
   * a subquery it is a matrix.
   */
  async instant(query: string | Expr, timeMs: number, options: QueryOptions): Promise<QueryResult> {
    const { text, expr } = this.#read(query);
    const span = { start: timeMs, end: timeMs, step: 0 };
    const run = this.#start(text, expr, span, { start: timeMs, step: 1, count: 1 }, options);
    return finish(run, text, async (context, resolved, frame) => {
      const inner = unwrapParens(resolved);
      if (inner.kind === 'matrix' || inner.kind === 'subquery') {
        return { type: 'matrix', series: await instantRange(context, inner, frame) };
      }
      return instantValue(context, resolved, frame);
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
    return finish(run, text, async (context, resolved, frame) => {
      if (frame.count === 0) return { type: 'matrix', series: [] };
      return rangeValue(context, await context.evaluate(resolved, frame), frame);
    });
  }

  /**
   * The series and time ranges that a query reads when it is evaluated over the span. A step of 0 means an instant
   * query at the start. Times in milliseconds.
   * Errors: QueryError bad_data for a query that does not parse.
   */
  reads(query: string | Expr, span: QuerySpan, lookbackDeltaMs?: number): QueryRead[] {
    const { text, expr } = this.#read(query);
    const { start, end, step } = span;
    const frame = step === 0 ? { start, step: 1, count: 1 } : rangeFrame(start, end, step);
    return listReads(this.#resolved(text, expr, span), frame, this.settings(lookbackDeltaMs));
  }

  /**
   * The settings of an evaluation, with all defaults filled in, for evaluations outside the engine. Units:
   * milliseconds.
   */
  settings(lookbackDeltaMs?: number): EvalSettings {
    const own = this.#options;
    return {
      lookbackDeltaMs: lookbackDeltaMs ?? own.lookbackDeltaMs ?? defaultLookbackMs,
      delayedNameRemoval: own.delayedNameRemoval === true,
      startTimestamps: own.startTimestamps === true,
      typeAndUnitLabels: own.typeAndUnitLabels === true,
    };
  }

  #read(query: string | Expr): { text: string; expr: Expr } {
    return typeof query === 'string' ? { text: query, expr: this.#trees.parse(query) } : { text: '', expr: query };
  }

  #start(text: string, expr: Expr, span: QuerySpan, frame: Frame, options: QueryOptions): RunInput {
    const own = this.#options;
    const settings = this.settings(options.lookbackDeltaMs);
    const maxSamples = options.maxSamples ?? own.maxSamples ?? defaultMaxSamples;
    const budget = new Budget({
      maxSamples,
      maxSeries: options.maxSeries,
      memory: options.memory,
      timeoutMs: options.timeoutMs ?? own.timeoutMs ?? defaultTimeoutMs,
      monotonic: own.monotonic,
      signal: options.signal,
      turns: options.turns ?? own.turns ?? turns,
    });
    const resolved = this.#resolved(text, expr, span);
    refuseTooManySteps(resolved, frame, maxSamples);
    const { source, signal, distribution = null, countSamples = false } = options;
    const counted = countedFrame(frame, budget, countSamples);
    return { expr: resolved, frame: counted, settings, budget, source, signal, distribution, monotonic: own.monotonic };
  }

  #resolved(text: string, expr: Expr, span: QuerySpan): Expr {
    const subqueryStep = this.#options.defaultSubqueryStepMs ?? ((): number => defaultSubqueryStepMs);
    return resolve(expr, span, text, subqueryStep);
  }
}

/** Runs one query, from its resolved tree to its answer. */
async function finish(
  input: RunInput,
  text: string,
  compute: (context: EvalContext, expr: Expr, frame: Frame) => Promise<QueryValue>,
): Promise<QueryResult> {
  const { expr, frame, budget } = input;
  const { context, annotations } = openRun(input);
  const value = await compute(context, expr, frame);
  return {
    value,
    warnings: annotations.texts('warning', text),
    infos: annotations.texts('info', text),
    omittedWarnings: annotations.omittedWarnings,
    omittedInfos: annotations.omittedInfos,
    stats: {
      samplesRead: budget.read,
      peakSamples: budget.peak,
      ...context.stopwatch.read(),
      samples: frame.samples,
    },
  };
}

async function rangeValue(context: EvalContext, value: Value, frame: Frame): Promise<QueryValue> {
  const times = Float64Array.from({ length: frame.count }, (_, i) => frame.start + i * frame.step);
  if (value.kind === 'scalar') {
    return { type: 'matrix', series: [{ labels: [], timestamps: times, values: value.values, histograms: [] }] };
  }
  if (value.kind === 'string') throw new QueryError('bad_data', 'a string has no range');
  const { budget } = context;
  const found = context.settings.delayedNameRemoval ? await removeDelayedNames(budget, value.columns) : value.columns;
  const columns = await context.stopwatch.sorting(() => inLabelOrder(budget, found));
  const series: MatrixSeries[] = [];
  for (const column of columns) {
    const one = matrixSeries(column, times);
    if (one !== null) series.push(one);
    if (budget.spend(frame.count)) await budget.turn();
  }
  return { type: 'matrix', series };
}

/** A column as a series of the answer; null for an empty one. */
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
