import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson, startScriptedAdapter } from '../../src/testing/query/scripted-adapter.ts';
import type { ScriptedAdapter } from '../../src/testing/query/scripted-adapter.ts';
import type { Cluster } from '../cluster/cluster.ts';

/**
 * Another server of the metrics APIs for autoscalers, as prometheus-adapter is. It asks the API server to review each
 * caller. It serves `queue_depth` of pods and services in the namespace `shop`, and `queue_length` as an external
 * metric.
 */
export interface SecondAdapter extends ScriptedAdapter {
  /** The users that have sent requests, as the API server names them. */
  readonly users: Set<string>;
  /** If set, every answer to an allowed caller has this status. */
  broken: number | undefined;
}

const secret = 'second-adapter';

/** Starts the adapter on this machine. */
export async function startSecondAdapter(cluster: Cluster): Promise<SecondAdapter> {
  const users = new Set<string>();
  const adapter: SecondAdapter = Object.assign(await startScriptedAdapter(), { users, broken: undefined });
  adapter.answer = (req, res) => {
    serve(req, res, cluster, adapter).catch((error: Error) => sendJson(res, 500, { message: error.message }));
  };
  return adapter;
}

/**
 * Makes an installed operator's query servers pass requests on to the adapter. `more`: further flags of the operator.
 */
export async function passOnTo(
  adapter: Pick<ScriptedAdapter, 'ca' | 'url'>,
  kubectl: (...args: string[]) => Promise<string>,
  more: readonly string[] = [],
): Promise<void> {
  const authority = `--from-literal=ca.crt=${adapter.ca}`;
  await kubectl('-n', 'svc-system', 'create', 'secret', 'generic', secret, authority);
  const flags = [`--custom-metrics-fallback=${adapter.url}`, `--custom-metrics-fallback-secret=${secret}`, ...more];
  const patch = flags.map((value) => ({ op: 'add', path: '/spec/template/spec/containers/0/args/-', value }));
  const target = ['-n', 'svc-system', 'patch', 'deployment', 'svc-controller', '--type=json'];
  await kubectl(...target, '-p', JSON.stringify(patch));
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  cluster: Cluster,
  adapter: SecondAdapter,
): Promise<void> {
  const { pathname } = new URL(req.url ?? '/', adapter.url);
  const [, , group = '', version = '', ...rest] = pathname.split('/');
  const status = await review(req, cluster, adapter, group, rest);
  if (status !== 200) return sendJson(res, status, { kind: 'Status', code: status });
  if (adapter.broken !== undefined) return sendJson(res, adapter.broken, { kind: 'Status' });
  const groupVersion = `${group}/${version}`;
  const external = group === 'external.metrics.k8s.io';
  if (rest.length === 0) {
    const names = external ? ['queue_length'] : ['pods/queue_depth', 'services/queue_depth', 'pods/catalog_rps'];
    const resources = names.map((name) => ({ name, namespaced: true, verbs: ['get'] }));
    return sendJson(res, 200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources });
  }
  const metric = rest.at(-1)!;
  const timestamp = new Date().toISOString();
  const metadata = {};
  if (external && metric === 'queue_length') {
    const items = [{ metricName: metric, metricLabels: { queue: 'a' }, timestamp, value: '7' }];
    return sendJson(res, 200, { kind: 'ExternalMetricValueList', apiVersion: groupVersion, metadata, items });
  }
  const [, namespace, resource, name] = rest;
  if (external || metric !== 'queue_depth' || namespace !== 'shop') return sendJson(res, 404, { kind: 'Status' });
  const kind = resource === 'services' ? 'Service' : 'Pod';
  const described = { describedObject: { kind, namespace, name: name === '*' ? 'one' : name, apiVersion: '/v1' } };
  const named = version === 'v1beta1' ? { metricName: metric } : { metric: { name: metric, selector: null } };
  const items = [{ ...described, ...named, timestamp, value: '4200m' }];
  sendJson(res, 200, { kind: 'MetricValueList', apiVersion: groupVersion, metadata, items });
}

/** The API server's verdict on the caller: 200, 401 or 403. */
async function review(
  req: IncomingMessage,
  { api }: Cluster,
  { users }: SecondAdapter,
  group: string,
  rest: readonly string[],
): Promise<number> {
  const token = req.headers.authorization?.replace(/^Bearer /, '');
  if (token === undefined) return 401;
  const about = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: { token } };
  const { status } = await api.request<{
    status: { authenticated?: boolean; user?: { username: string; groups: string[] } };
  }>('POST', '/apis/authentication.k8s.io/v1/tokenreviews', about);
  if (status.authenticated !== true || status.user === undefined) return 401;
  const { username, groups } = status.user;
  users.add(username);
  const [, namespace, resource, , metric] = rest;
  const attributes =
    rest.length === 0
      ? { nonResourceAttributes: { path: new URL(req.url!, 'https://localhost').pathname, verb: 'get' } }
      : { resourceAttributes: { group, namespace, resource, subresource: metric, verb: 'get' } };
  const wish = await api.request<{ status: { allowed: boolean } }>(
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { user: username, groups, ...attributes },
    },
  );
  return wish.status.allowed ? 200 : 403;
}
