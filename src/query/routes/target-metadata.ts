import { compileMatchers } from '../../tsdb/index.ts';
import { runRequest } from '../api/call.ts';
import type { Handler } from '../api/call.ts';
import { metadataOf } from './metadata.ts';
import { most } from './metadata-handlers.ts';
import { selectorParam } from '../api/params.ts';
import { sendSuccess } from '../api/respond.ts';
import { targetLabels } from './targets.ts';

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
  const answer = await deps.runner.ask({ path: '/api/v1/metadata' }, runRequest(call), (data, node) => {
    const target: Readonly<Record<string, string>> = targetLabels(node);
    if (!matchers.every(({ name, matches }) => matches(target[name] ?? ''))) return [];
    const wanted = metadataOf(data).filter(([name]) => metric === '' || name === metric);
    // The name is given only when the request did not name it, as in Prometheus.
    return wanted.flatMap(([name, entries]) =>
      entries.map((entry) => ({ target, ...(metric === '' ? { metric: name } : {}), ...entry })),
    );
  });
  const found = call.namespaces === undefined ? answer.result.flat() : [];
  await sendSuccess(req, res, [JSON.stringify(limit >= 0 ? found.slice(0, limit) : found)], answer);
};
