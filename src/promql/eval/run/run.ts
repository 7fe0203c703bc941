import { Annotations } from '../../annotations.ts';
import { QueryError } from '../../errors.ts';
import type { Expr, VectorSelector } from '../../parser/ast.ts';
import type { Distribution } from '../../plan/fragment.ts';
import type { SelectRequest, SeriesSource } from '../../types.ts';
import { abortError, sampleBytes, type Budget } from '../budget.ts';
import { inLabelOrder } from '../columns.ts';
import type { EvalContext, EvalSettings } from '../context.ts';
import { DistributedParts } from './distributed.ts';
import { evaluate } from '../evaluate.ts';
import type { Frame } from '../frame.ts';
import { findInvariant } from './invariant.ts';
import { listDemands } from '../select/prefetch.ts';
import { Selection, keptSeries, type RawSeries, type SelectedSeries } from '../select/raw-series.ts';
import { statsOnlySelectors, withDefiniteHints } from './stats-only.ts';
import { Stopwatch } from './stopwatch.ts';

/** The input of one evaluation. `expr` comes from `resolve`: its durations and times are numbers. */
export interface RunInput {
  readonly expr: Expr;
  readonly frame: Frame;
  readonly settings: EvalSettings;
  readonly budget: Budget;
  readonly source: SeriesSource;
  readonly signal: AbortSignal | undefined;
  readonly distribution: Distribution | null;
  /** True for the part of a query that an agent computes for its node. Default false. */
  readonly isShare?: boolean;
  /** Monotonic milliseconds, for measuring the evaluation. */
  readonly monotonic?: (() => number) | undefined;
}

/** The read of one selector; `series` is set at its first use. */
interface Read {
  readonly request: SelectRequest;
  series: Promise<readonly SelectedSeries[]> | null;
}

const noop = (): void => undefined;
const nowhere = (): null => null;

/**
 * Sets up an evaluation: requests all fragments (the parts of the expression that nodes can compute) from the nodes,
 * and all other selectors from the source. Selectors inside a fragment are read only if the nodes leave it unanswered.
 */
export function openRun(input: RunInput): { readonly context: EvalContext; readonly annotations: Annotations } {
  const { expr, frame, settings, budget, source, signal, distribution, isShare = false, monotonic } = input;
  budget.check();
  const annotations = new Annotations();
  const invariant = findInvariant(expr);
  const demands = listDemands(expr, frame, settings);
  const requests = demands.map(({ request }) => request);
  const parts =
    distribution === null
      ? null
      : new DistributedParts(distribution, { expr, frame, settings, signal, invariant, requests });
  const statsOnly = statsOnlySelectors(expr);
  const select = (request: SelectRequest): Promise<readonly SelectedSeries[]> => {
    const withSignal = signal === undefined ? request : { ...request, signal };
    return readSeries(source, withSignal, annotations, budget, signal);
  };
  const reads = new Map<VectorSelector, Read>();
  const started = (read: Read, selector: VectorSelector): Promise<readonly SelectedSeries[]> => {
    if (read.series !== null) return read.series;
    const found = select(read.request);
    read.series = statsOnly.has(selector) ? found.then((all) => all.map(withDefiniteHints)) : found;
    // The evaluation may fail before it reaches this series; its rejection must not be unhandled then.
    read.series.catch(noop);
    return read.series;
  };
  for (const { selector, request } of demands) {
    const read: Read = { request, series: null };
    reads.set(selector, read);
    if (parts?.covers(selector) !== true) void started(read, selector);
  }
  // All requests have been sent: the evaluation begins.
  const stopwatch = new Stopwatch(monotonic);
  const context: EvalContext = {
    settings,
    budget,
    annotations,
    stopwatch,
    series: (selector) => stopwatch.waiting(started(reads.get(selector)!, selector)),
    isShare,
    invariant,
    evaluate: (one, at) => evaluate(context, one, at),
    distributed:
      parts === null ? nowhere : (one, at): ReturnType<EvalContext['distributed']> => parts.columns(context, one, at),
    isPart: (one) => parts?.isPart(one) === true,
    select: async (request) => kept(budget, await stopwatch.waiting(select(request))),
  };
  return { context, annotations };
}

async function kept(budget: Budget, selected: readonly SelectedSeries[]): Promise<RawSeries[]> {
  const series: RawSeries[] = [];
  for (const one of selected) {
    const raw = one.open();
    if (raw === null) continue;
    budget.hold(raw.times.length);
    series.push(keptSeries(raw));
    if (budget.spend(10 + raw.times.length)) await budget.turn();
  }
  return series;
}

/** Reads one selector's series from the source, cut to the time span of the request and sorted by labels. */
async function readSeries(
  source: SeriesSource,
  request: SelectRequest,
  annotations: Annotations,
  budget: Budget,
  signal: AbortSignal | undefined,
): Promise<readonly SelectedSeries[]> {
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
  budget.hold(Math.ceil((result.heldBytes ?? 0) / sampleBytes));
  budget.touch(result.series.length);
  const selection = new Selection(request, budget);
  const series: SelectedSeries[] = [];
  for (const one of result.series) {
    const selected = selection.select(one);
    if (selected !== null) series.push(selected);
    if (budget.spend('read' in one ? 10 : 10 + one.timestamps.length)) await budget.turn();
  }
  return result.sorted === true ? series : inLabelOrder(budget, series);
}
