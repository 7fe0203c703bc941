import type { TopologyGrouping } from '../../api/page/types.ts';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import type { PackedSums, QueryValue } from '../../promql/index.ts';
import { assembleTopology, type RateRow } from '../topology/assemble.ts';
import { nodeGraph } from '../topology/grafana.ts';
import { topologyQuery } from '../topology/queries.ts';
import { ApiError, invalidParameter } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Call, Handler } from '../api/call.ts';
import { durationParam, timeParam } from '../api/params.ts';
import { sendSuccess } from '../api/respond.ts';
import { jsonPieces } from '../json/json-pieces.ts';

/** Shorter windows hold too few samples for a rate; longer ones are for dashboards. Units: ms. */
const shortestMs = 60_000;
const longestMs = 86_400_000;
const defaultMs = 300_000;
/** Maximum number of edges in an answer; if there are more, the busiest are shown, with a warning. */
const maxEdges = 10_000;
const groupings: readonly string[] = ['workload', 'namespace', 'node'] satisfies TopologyGrouping[];

/** `/api/v1/topology`: which workloads, namespaces or nodes talk to each other in a window that ends at `end`. */
export const topology: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const by = params.get('by') || 'workload';
  if (!groupings.includes(by)) throw invalidParameter('by', `must be one of ${groupings.join(', ')}`);
  const format = params.get('format') || 'json';
  if (format !== 'json' && format !== 'grafana') throw invalidParameter('format', 'must be json or grafana');
  const { endMs, windowMs } = windowParams(call, deps.clock.now(), defaultMs);
  const parts = topologyQuery(by as TopologyGrouping, windowMs);
  const pace = new Pace(call.signal);
  const answer = await deps.runner.sums(parts, 'le', endMs, runRequest(call));
  const { topology: data, leftOut } = await assembleTopology(pace, await rateRows(pace, answer.result.sums), {
    ...{ index: deps.addresses, by: by as TopologyGrouping, endMs, windowMs, maxEdges },
    visible: call.namespaces,
    namespace: params.get('namespace') || undefined,
  });
  const warnings = leftOut > 0 ? [`${leftOut} edges with the least traffic are left out; name a namespace`] : [];
  const shown = format === 'grafana' ? nodeGraph(data) : data;
  // Infos are about the query that was generated here, and mean nothing to the caller, who did not write it.
  const extras = { ...answer, infos: [], warnings: [...answer.warnings, ...warnings] };
  await sendSuccess(req, res, jsonPieces(shown), extras);
};

/** The window of `start` and `end`, or of `window` before `end`. Units: ms. Errors: ApiError bad_data. */
export function windowParams(
  { params }: Pick<Call, 'params'>,
  nowMs: number,
  fallbackMs: number,
): { readonly endMs: number; readonly windowMs: number } {
  const endMs = timeParam(params, 'end', nowMs);
  const given = durationParam(params, 'window');
  const hasStart = (params.get('start') ?? '') !== '';
  if (given !== undefined && hasStart) throw invalidParameter('window', 'excludes start');
  const windowMs = hasStart ? endMs - timeParam(params, 'start', 0) : (given ?? fallbackMs);
  if (windowMs < shortestMs || windowMs > longestMs) {
    throw invalidParameter(hasStart ? 'start' : 'window', 'the window must be between 1m and 1d long');
  }
  return { endMs, windowMs: Math.round(windowMs) };
}

/** For pacing, making an object of labels costs as much as this many samples. */
const labelsWork = 200;

/** Sums by `le`, with the other labels as an object. */
export async function rateRows(pacing: Pacing, sums: readonly PackedSums[]): Promise<RateRow[]> {
  const rows: RateRow[] = [];
  for (const { labels, axis, values } of sums) {
    rows.push({ labels: Object.fromEntries(labels), bounds: axis, values });
    if (pacing.spend(labelsWork)) await pacing.turn();
  }
  return rows;
}

/** The elements of a vector, with the labels as an object. */
export function rateSamples(value: QueryValue): { labels: Record<string, string>; value: number }[] {
  if (value.type !== 'vector') throw new ApiError('internal', `a vector was asked for, a ${value.type} came`);
  return value.elements.map((element) => ({ labels: Object.fromEntries(element.labels), value: element.value }));
}
