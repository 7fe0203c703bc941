/** The answers that a panel of the query view shows: values, graph and exemplars of one expression. */
import { ApiFailure, asFailure, type Answer, type AskOptions } from '../api/client.ts';
import {
  exemplars,
  instant,
  lastSeconds,
  range,
  type ExemplarSeries,
  type QueryData,
  type RangeData,
} from '../api/promql.ts';
import { stepFor } from '../parts/chart-data.ts';
import type { Panel } from '../state/panels.ts';

export interface PanelAnswers {
  readonly now: Answer<QueryData>;
  /** Undefined: a string or a range has no graph. */
  readonly graph: Answer<RangeData> | ApiFailure | undefined;
  /** Undefined: not asked for. */
  readonly found: Answer<ExemplarSeries[]> | ApiFailure | undefined;
}

/**
 * Asks for everything at once. The graph and the exemplars may fail alone, for example at the limit of samples, which
 * a long time range reaches sooner than a single moment does.
 * Errors: those of the values, ApiFailure; the caller's abort unchanged.
 */
export async function askAll(asked: Panel, options: AskOptions): Promise<PanelAnswers> {
  const times = await lastSeconds(asked.range, stepFor(asked.range), asked.end);
  const [now, graph, found] = await Promise.all([
    instant(asked.expr, asked.end, options),
    orFailure('graph', range(asked.expr, times, options)),
    asked.exemplars ? orFailure('exemplars', exemplars(asked.expr, times, options)) : undefined,
  ]);
  const hasGraph = now.data.resultType === 'vector' || now.data.resultType === 'scalar';
  return { now, graph: hasGraph ? graph : undefined, found };
}

const orFailure = <T>(what: string, answer: Promise<T>): Promise<T | ApiFailure> =>
  answer.catch((error: unknown) => {
    const { kind, message } = asFailure(error);
    return new ApiFailure(kind, `No ${what}: ${message}`);
  });

/** The answer itself; undefined without one. */
export const answered = <T>(one: Answer<T> | ApiFailure | undefined): Answer<T> | undefined =>
  one instanceof ApiFailure ? undefined : one;
