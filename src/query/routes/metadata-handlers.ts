import { united } from '../../api/page/lost-node.ts';
import { compareText } from '../../base/text/texts.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import { runRequest } from '../api/call.ts';
import type { Handler, HandlerDeps } from '../api/call.ts';
import { knownMetrics, mergedMetadata, metadataOf, type MetricMetadata } from './metadata.ts';
import { ApiError } from '../api/api-error.ts';
import { selectorParam, wholeNumber } from '../api/params.ts';
import { sendSuccess } from '../api/respond.ts';
import { jsonPieces } from '../json/json-pieces.ts';
import { compileMatchers } from '../../tsdb/index.ts';
import type { Answered, RunRequest } from '../run/runner-options.ts';
import { targetLabels } from './targets.ts';

/** For pacing: one comparison, and taking in the name of a series, cost as much as this many samples. */
const [compareWork, nameWork] = [20, 20];

/**
 * `/api/v1/metadata`: the metadata that agents have of their metrics, and the metadata that this server has of metrics
 * with fixed names. A caller restricted to some namespaces gets the metrics that have series there.
 */
export const metadata: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const metric = params.get('metric') ?? '';
  const limit = most(params, 'limit');
  const perMetric = most(params, 'limit_per_metric');
  const [answer, seen] = await deps.runner.inOnePlace(runRequest(call), (request) =>
    Promise.all([
      deps.runner.ask({ path: '/api/v1/metadata' }, request, metadataOf),
      call.namespaces && seenNames(request, deps),
    ]),
  );
  const pace = new Pace(call.signal);
  const found = await mergedMetadata(answer.result, pace);
  for (const [name, entry] of Object.entries(knownMetrics)) if (!found.has(name)) found.set(name, [entry]);
  const wanted = [...found.keys()].filter((name) => metric === '' || name === metric);
  let names = await sortInTurns(pace, wanted, compareText, compareWork);
  let extras = answer;
  if (seen !== undefined) {
    const shownNames = new Set<string>();
    for (const name of seen.result) {
      shownNames.add(name);
      const base = name.replace(/_(bucket|count|sum)$/, '');
      if (found.get(base)?.some(({ type }) => isDistribution(type))) shownNames.add(base);
      if (pace.spend(nameWork)) await pace.turn();
    }
    names = names.filter((name) => shownNames.has(name));
    const missingNodes = [...new Set([...answer.missingNodes, ...seen.missingNodes])].sort();
    extras = { ...answer, missingNodes, warnings: united([...answer.warnings, ...seen.warnings]) };
  }
  // As in Prometheus: `limit=0` gives no metrics, but `limit_per_metric=0` gives all entries of each metric.
  const shown = limit >= 0 ? names.slice(0, limit) : names;
  const cut = (entries: MetricMetadata[]): MetricMetadata[] => (perMetric > 0 ? entries.slice(0, perMetric) : entries);
  const data = new Map(shown.map((name) => [name, cut(found.get(name)!)]));
  await sendSuccess(req, res, jsonPieces(data), extras);
};

/** Whether a metric of this type has series named after its parts, such as `<name>_count`. */
function isDistribution(type: string): boolean {
  return type === 'histogram' || type === 'summary';
}

/** The names of the metrics that the caller sees series of now. */
function seenNames(
  request: RunRequest,
  { runner, clock, settings }: HandlerDeps,
): Promise<Answered<readonly string[]>> {
  const now = clock.now();
  return runner.labelTexts('__name__', [], now - settings.lookbackDelta, now, request);
}

/**
 * `/api/v1/targets/metadata`: each agent's metadata of its metrics. A caller restricted to some namespaces sees no
 * agents.
 */
export const targetMetadata: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const limit = most(params, 'limit');
  const metric = params.get('metric') ?? '';
  const text = params.get('match_target') ?? '';
  const matchers = text === '' ? [] : compileMatchers(selectorParam('match_target', text));
  const nodes = (node: string): boolean => {
    const target: Readonly<Record<string, string>> = targetLabels(node);
    return matchers.every(({ name, matches }) => matches(target[name] ?? ''));
  };
  const read = async (data: unknown, pacing: Pacing, node: string): Promise<object[]> => {
    const target = targetLabels(node);
    const wanted = (await metadataOf(data, pacing)).filter(([name]) => metric === '' || name === metric);
    // The name is given only when the request did not name it, as in Prometheus.
    return wanted.flatMap(([name, entries]) =>
      entries.map((entry) => ({ target, ...(metric === '' ? { metric: name } : {}), ...entry })),
    );
  };
  const answer = await deps.runner.ask({ path: '/api/v1/metadata' }, runRequest(call), read, { nodes });
  const found = call.namespaces === undefined ? answer.result.flat() : [];
  await sendSuccess(req, res, jsonPieces(limit >= 0 ? found.slice(0, limit) : found), answer);
};

/** A limit of this path, where a negative number means all. Errors: ApiError bad_data. */
function most(params: URLSearchParams, name: string): number {
  const limit = wholeNumber(params.get(name)) ?? -1;
  if (Number.isNaN(limit)) throw new ApiError('bad_data', `${name} must be a number`);
  return limit;
}
