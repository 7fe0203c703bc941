import { peerAddress } from '../../net/http/index.ts';
import type { QueryResult, QueryValue } from '../../promql/index.ts';
import type { LoggedRequest } from '../log/query-log.ts';
import { absenceWarnings } from '../run/absence-warnings.ts';
import { ApiError, invalidParameter, toApiError } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Call, Handler, HandlerDeps } from '../api/call.ts';
import { explained } from '../run/explained.ts';
import { queryExpr } from './language-handlers.ts';
import { durationParam, limitParam, requiredDuration, requiredTime, timeParam } from '../api/params.ts';
import type { Answered, RunRequest } from '../run/runner-options.ts';
import { renderQueryData } from '../json/render.ts';
import { sendSuccess } from '../api/respond.ts';
import { truncated } from './series-handlers.ts';
import { statsJson } from '../json/stats-json.ts';

/** The most points that a series may have in one answer. Source: Prometheus web/api/v1. */
const maxPoints = 11_000;

/** `/api/v1/query` */
export const query: Handler = async (call, deps) => {
  const { params } = call;
  const limit = limitParam(params);
  const time = timeParam(params, 'time', deps.clock.now());
  const text = params.get('query') ?? '';
  const request = queryRequest(call);
  await evaluate(call, deps, { start: time, end: time, step: 0 }, limit, (onEntered) =>
    deps.runner.instant(text, time, { ...request, onEntered }),
  );
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
  durationParam(params, 'timeout');
  // Truncated to whole milliseconds, as in Prometheus; a step below one millisecond becomes one.
  const range = { start, end, step: Math.max(1, Math.trunc(step)) };
  const text = params.get('query') ?? '';
  const request = queryRequest(call);
  await evaluate(call, deps, range, limit, (onEntered) => deps.runner.range(text, range, { ...request, onEntered }));
};

/** Runs a query with an entry in the file of active queries while it runs, sends the answer, and writes the log line. */
async function evaluate(
  call: Call,
  deps: HandlerDeps,
  span: { start: number; end: number; step: number },
  limit: number,
  run: (onEntered: () => void) => Promise<Answered<QueryResult>>,
): Promise<void> {
  const text = call.params.get('query') ?? '';
  const { clock } = deps;
  const started = clock.monotonic();
  let entered: number | undefined;
  let leave = (): void => {};
  const onEntered = (): void => {
    entered = clock.monotonic();
    leave = deps.active.enter({ query: text, user: call.user, startedAt: clock.now() });
  };
  const note = { query: text, ...span, request: loggedRequest(call) };
  try {
    const answer = await run(onEntered).finally(() => leave());
    await sendQuery(call, answer, span, limit);
    const { result, seconds, missingNodes } = answer;
    deps.log.write({ ...note, status: 200, seconds, stats: result.stats, missingNodes });
  } catch (error) {
    const { status, errorType, message } = toApiError(error);
    const ended = clock.monotonic();
    // A query that had no place yet was in the queue until now.
    const begun = entered ?? ended;
    const seconds = { queue: (begun - started) / 1000, evaluation: (ended - begun) / 1000 };
    deps.log.write({ ...note, status, seconds, missingNodes: [], error: `${errorType}: ${message}` });
    throw error;
  }
}

function loggedRequest({ req, user }: Call): LoggedRequest {
  const { traceparent } = req.headers;
  return {
    method: req.method ?? '',
    path: (req.url ?? '').split('?', 1)[0] ?? '',
    clientIP: peerAddress(req.socket) ?? '',
    user,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  };
}

function queryRequest(call: Call): RunRequest {
  return { ...runRequest(call), countSamples: (call.params.get('stats') ?? '') !== '' };
}

async function sendQuery(
  { req, res, params }: Call,
  answer: Answered<QueryResult>,
  { start, step }: { start: number; step: number },
  limit: number,
): Promise<void> {
  const value = limited(answer.result.value, limit);
  const warnings = [...answer.warnings];
  if (answer.missingNodes.length > 0) warnings.push(...absenceWarnings(queryExpr(params)));
  if (value !== answer.result.value) warnings.push(truncated);
  const wanted = params.get('stats') ?? '';
  if (!['', 'true', 'all'].includes(wanted)) warnings.push(unknownStats(wanted));
  const { seconds, result } = answer;
  const { samples } = result.stats;
  const told = samples && statsJson(result.stats, { seconds, samples, start, step }, wanted === 'all');
  const explain =
    params.get('explain') === '1' ? explained(queryExpr(params), answer.pushdown, answer.departed) : undefined;
  res.setHeader('x-svc-pushdown', answer.pushdown.path);
  await sendSuccess(req, res, renderQueryData(value, told), { ...answer, warnings, explain });
}

/** Prometheus' warning for an unknown value of `stats`; as in Prometheus, such a value still gives statistics. */
const unknownStats = (text: string): string =>
  `value ${JSON.stringify(text)} for parameter "stats" is deprecated and will be rejected in the next major release, ` +
  'use "true" or "all"';

function limited(value: QueryValue, limit: number): QueryValue {
  if (limit === 0) return value;
  if (value.type === 'vector' && value.elements.length > limit)
    return { ...value, elements: value.elements.slice(0, limit) };
  if (value.type === 'matrix' && value.series.length > limit) return { ...value, series: value.series.slice(0, limit) };
  return value;
}
