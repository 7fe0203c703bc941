import { labelValue } from '../../tsdb/index.ts';
import { invalidParameter } from './api-error.ts';
import { runRequest } from './call.ts';
import type { Handler } from './call.ts';
import { queryExpr } from './language-handlers.ts';
import { knownMetrics } from './metadata.ts';
import { limitParam, timeParam } from './params.ts';
import { noExtras, sendSuccess } from './respond.ts';
import { maxTimeMs, minTimeMs } from './times.ts';

/** `/api/v1/metadata`. Who sees some namespaces only, is told of the metrics that have series there. */
export const metadata: Handler = async (call, deps) => {
  const metric = call.params.get('metric') ?? '';
  const limit = limitParam(call.params);
  let extras = noExtras;
  let all = Object.entries(knownMetrics).filter(([name]) => metric === '' || name === metric);
  if (call.namespaces !== undefined) {
    const now = deps.clock.now();
    const answer = await deps.runner.series([], now - deps.settings.lookbackDelta, now, runRequest(call));
    const seen = new Set(answer.result.map((l) => labelValue(l, '__name__').replace(/_(bucket|count|sum)$/, '')));
    all = all.filter(([name]) => seen.has(name));
    extras = answer;
  }
  const data = Object.fromEntries((limit > 0 ? all.slice(0, limit) : all).map(([name, m]) => [name, [m]]));
  await sendSuccess(call.req, call.res, [JSON.stringify(data)], extras);
};

/** `/api/v1/query_exemplars`: an agent hands exemplars out with a scrape and keeps none, so there is nothing to ask for. */
export const exemplars: Handler = async ({ req, res, params }) => {
  queryExpr(params);
  const start = timeParam(params, 'start', minTimeMs);
  const end = timeParam(params, 'end', maxTimeMs);
  if (end < start) throw invalidParameter('end', 'end timestamp must not be before start time');
  await sendSuccess(req, res, ['[]']);
};
