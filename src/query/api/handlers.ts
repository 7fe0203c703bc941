import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { compareUtf8, labelValue } from '../../tsdb/index.ts';
import { parse, print, QueryError } from '../../promql/index.ts';
import type { QueryValue } from '../../promql/index.ts';
import type { QuerySettings } from '../settings.ts';
import { absenceWarnings } from './absence-warnings.ts';
import { ApiError, invalidParameter } from './api-error.ts';
import { knownMetrics } from './metadata.ts';
import {
  durationParam,
  limitParam,
  matcherSets,
  partialResponseParam,
  requiredDuration,
  requiredTime,
  timeParam,
} from './params.ts';
import type { QueryRunner, RunRequest } from './query-runner.ts';
import { assertFloats, labelsJson, renderQueryData, statsJson } from './render.ts';
import { sendSuccess } from './respond.ts';
import type { Extras } from './respond.ts';
import { buildInfo, flags } from './status.ts';
import { maxTimeMs, minTimeMs } from './times.ts';

/** Most points of a series in one answer. Source: Prometheus web/api/v1. */
const maxPoints = 11_000;
const truncated = 'results truncated due to limit';

/** One request, read and under way. */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly params: URLSearchParams;
  readonly signal: AbortSignal;
  /** The label of `/label/:name/values`. */
  readonly label?: string;
}

export interface HandlerDeps {
  readonly runner: QueryRunner;
  readonly clock: Clock;
  readonly settings: QuerySettings;
  readonly version: string;
}

export type Handler = (call: Call, deps: HandlerDeps) => Promise<void>;

/** `/api/v1/query` */
export const query: Handler = async (call, deps) => {
  const { params } = call;
  const limit = limitParam(params);
  const time = timeParam(params, 'time', deps.clock.now());
  const answer = await deps.runner.instant(params.get('query') ?? '', time, runRequest(call));
  await sendQuery(call, answer, limit);
};

/** `/api/v1/query_range` */
export const queryRange: Handler = async (call, deps) => {
  const { params } = call;
  const start = requiredTime(params, 'start');
  const end = requiredTime(params, 'end');
  if (end < start) throw invalidParameter('end', 'end timestamp must not be before start time');
  const step = requiredDuration(params, 'step');
  if (step <= 0) {
    const message = 'zero or negative query resolution step widths are not accepted. Try a positive integer';
    throw invalidParameter('step', message);
  }
  if (Math.floor((end - start) / step) > maxPoints) {
    const message =
      'exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)';
    throw new ApiError('bad_data', message);
  }
  const limit = limitParam(params);
  // Below a millisecond there is no step: Prometheus cuts it off, too.
  const range = { start, end, step: Math.max(1, Math.trunc(step)) };
  const answer = await deps.runner.range(params.get('query') ?? '', range, runRequest(call));
  await sendQuery(call, answer, limit);
};

/** `/api/v1/series` */
export const series: Handler = async (call, deps) => {
  if (call.params.getAll('match[]').length === 0) throw new ApiError('bad_data', 'no match[] parameter provided');
  const answer = await readSeries(call, deps);
  await sendList(call, answer, answer.result.map(labelsJson));
};

/** `/api/v1/labels` */
export const labels: Handler = async (call, deps) => {
  const answer = await readSeries(call, deps);
  const names = new Set(answer.result.flatMap((l) => l.map(([name]) => name)));
  await sendList(
    call,
    answer,
    [...names].sort(compareUtf8).map((name) => JSON.stringify(name)),
  );
};

/** `/api/v1/label/:name/values` */
export const values: Handler = async (call, deps) => {
  const name = call.label ?? '';
  if (name === '' || !name.isWellFormed())
    throw new ApiError('bad_data', `invalid label name: ${JSON.stringify(name)}`);
  const answer = await readSeries(call, deps);
  const found = new Set(answer.result.map((l) => labelValue(l, name)));
  found.delete('');
  await sendList(
    call,
    answer,
    [...found].sort(compareUtf8).map((value) => JSON.stringify(value)),
  );
};

/** `/api/v1/metadata` */
export const metadata: Handler = async (call) => {
  const metric = call.params.get('metric') ?? '';
  const limit = limitParam(call.params);
  const all = Object.entries(knownMetrics).filter(([name]) => metric === '' || name === metric);
  const data = Object.fromEntries((limit > 0 ? all.slice(0, limit) : all).map(([name, m]) => [name, [m]]));
  await sendSuccess(call.req, call.res, [JSON.stringify(data)]);
};

/** `/api/v1/query_exemplars`: none are kept. */
export const exemplars: Handler = async (call) => {
  parseParam(call.params);
  await sendSuccess(call.req, call.res, ['[]']);
};

/** `/api/v1/format_query` */
export const formatQuery: Handler = async (call) => {
  await sendSuccess(call.req, call.res, [JSON.stringify(print(parseParam(call.params)))]);
};

export const buildinfo: Handler = async (call, deps) => {
  await sendSuccess(call.req, call.res, [JSON.stringify(buildInfo(deps.version))]);
};

export const statusFlags: Handler = async (call, deps) => {
  await sendSuccess(call.req, call.res, [JSON.stringify(flags(deps.settings))]);
};

function runRequest({ params, signal }: Call): RunRequest {
  return {
    signal,
    timeoutMs: durationParam(params, 'timeout'),
    lookbackDeltaMs: durationParam(params, 'lookback_delta'),
    partialResponse: partialResponseParam(params),
  };
}

function readSeries(call: Call, deps: HandlerDeps): ReturnType<QueryRunner['series']> {
  const start = timeParam(call.params, 'start', minTimeMs);
  const end = timeParam(call.params, 'end', maxTimeMs);
  if (end < start) throw invalidParameter('end', 'end timestamp must not be before start time');
  return deps.runner.series(matcherSets(call.params), start, end, runRequest(call));
}

async function sendQuery(
  { req, res, params }: Call,
  answer: Awaited<ReturnType<QueryRunner['instant']>>,
  limit: number,
): Promise<void> {
  const value = limited(answer.result.value, limit);
  assertFloats(value);
  const warnings = [...answer.warnings];
  if (answer.missingNodes.length > 0) warnings.push(...absenceWarnings(parseParam(params)));
  if (value !== answer.result.value) warnings.push(truncated);
  const stats =
    params.has('stats') && params.get('stats') !== '' ? statsJson(answer.result.stats, answer.seconds) : undefined;
  await sendSuccess(req, res, renderQueryData(value, stats), { ...answer, warnings });
}

function limited(value: QueryValue, limit: number): QueryValue {
  if (limit === 0) return value;
  if (value.type === 'vector' && value.elements.length > limit)
    return { ...value, elements: value.elements.slice(0, limit) };
  if (value.type === 'matrix' && value.series.length > limit) return { ...value, series: value.series.slice(0, limit) };
  return value;
}

/** A list of JSON texts, cut to the limit. */
async function sendList({ req, res, params }: Call, extras: Extras, items: readonly string[]): Promise<void> {
  const limit = limitParam(params);
  const cut = limit > 0 && items.length > limit;
  const shown = cut ? items.slice(0, limit) : items;
  const pieces = shown.map((item, i) => (i === 0 ? `[${item}` : `,${item}`));
  const warnings = cut ? [...extras.warnings, truncated] : extras.warnings;
  await sendSuccess(req, res, [...pieces, shown.length === 0 ? '[]' : ']'], { ...extras, warnings });
}

function parseParam(params: URLSearchParams): ReturnType<typeof parse> {
  try {
    return parse(params.get('query') ?? '', { experimentalFunctions: true });
  } catch (error) {
    if (error instanceof QueryError) throw invalidParameter('query', error.message);
    throw error;
  }
}
