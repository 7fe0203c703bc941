import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { silentLogger } from '../../../base/logger.ts';
import type { VectorElement } from '../../../promql/index.ts';
import type { UserInfo } from '../../../kube/reviews.ts';
import { until } from '../../../testing/until.ts';
import { ShiftedClock } from '../../../testing/shifted-clock.ts';
import { createCustomMetricsMeter } from '../metrics.ts';
import { declaredMetrics, type MonitorLike, monitorProvider } from '../providers/monitor-provider.ts';
import { presetProvider } from '../providers/preset-provider.ts';
import type { MetricProvider } from '../providers/provider.ts';
import { describedResource } from '../../../api/described-resources.ts';
import { MetricService } from '../values/metric-service.ts';
import { ValueCache } from '../values/value-cache.ts';
import { createCustomMetricsHandler } from './handler.ts';
import { StatusError } from './status-error.ts';

const sampled = Date.parse('2026-01-01T00:00:00Z');
const custom = '/apis/custom.metrics.k8s.io/v1beta2';
const external = '/apis/external.metrics.k8s.io/v1beta1';

/**
 * Knows the metric `m` of every object, with one row each for foo, bar and the namespace ns. The metrics `total` and
 * `received` of each resource span nodes: traffic to a pod is recorded on several.
 */
const expressions: Readonly<Record<string, { value: string; label?: string }>> = {
  m: { value: 'x' },
  total: { value: 'sum(x) by (other)' },
  received: { value: 'sum by (k8s_dst_name) (rate(ebpf_network_flow_bytes[1m]))', label: 'k8s_dst_name' },
};
const everything: MetricProvider = {
  name: 'test',
  names: () => [{ resource: describedResource('pods')!, metric: 'm' }],
  externalNames: () => ['m'],
  notReady: () => unready,
  find: ({ resource, metric }) =>
    expressions[metric] && (metric === 'm' || resource)
      ? { times: ['timestamp(x)'], windowMs: 60_000, label: resource?.label, ...expressions[metric] }
      : undefined,
};

/** A monitor that declares the metric `busy` of its namespace. */
const declared = declaredMetrics([
  {
    metadata: { name: 'monitor', namespace: 'ns' },
    spec: {
      mode: 'Capture',
      selector: {},
      autoscaling: { metrics: [{ name: 'busy', resource: 'namespaces', expr: 'sum(x)' }] },
    },
  } as MonitorLike,
]);

let server: Server;
let values: Record<string, number>;
let missingNodes: string[];
let readParts: string[] = [];
let failing: boolean;
let asked: string[];
let allowed: boolean;
let externalOn: boolean;
let fallsBack: boolean;
/** Why the first provider is not ready. */
let unready: string | undefined;
/** Every evaluation waits for this promise. */
let evaluation: Promise<void>;
/** How many requests had their rights checked. */
let checks: number;
const meter = createCustomMetricsMeter(new Registry(), () => ({}));

beforeEach(async () => {
  [evaluation, checks, fallsBack, unready] = [Promise.resolve(), 0, false, undefined];
  [values, missingNodes, failing, asked, allowed, externalOn] = [
    { foo: 1.5, bar: 2, ns: 7 },
    [],
    false,
    [],
    true,
    true,
  ];
  const labels = ['k8s_pod_name', 'k8s_dst_name', 'k8s_node_name', 'k8s_namespace_name', 'k8s_deployment_name'];
  const element = (name: string, part: string, value: number): VectorElement => ({
    labels: [...labels.map((label) => [label, name] as const), ['svc_part', part] as const],
    timestamp: 0,
    value,
  });
  const service = new MetricService({
    providers: [everything, monitorProvider(() => declared), presetProvider],
    values: new ValueCache({
      instant: async (query, _time, { readsOf }) => {
        asked.push(query);
        readParts.push(readsOf);
        await evaluation;
        if (failing) throw new Error('disk on fire at 10.0.0.1');
        const elements = Object.entries(values).flatMap(([name, value]) => [
          element(name, 'value', value),
          element(name, 'time0', sampled / 1000),
        ]);
        return {
          result: {
            value: { type: 'vector', elements },
            warnings: [],
            infos: [],
            omittedWarnings: 0,
            omittedInfos: 0,
            stats: { samplesRead: 0, peakSamples: 0, evaluationMs: 0, sortMs: 0 },
          },
          missingNodes,
        };
      },
      clock: new ShiftedClock(sampled),
      freshMs: 1_000,
      deadlineMs: 1_000,
    }),
    objects: {
      ready: true,
      names: async (_resource, _namespace, selector) => (selector === 'app=none' ? [] : ['foo', 'bar']),
    },
    logger: silentLogger,
    meter,
    partialAggregates: false,
    now: () => sampled + 5_000,
  });
  const handler = createCustomMetricsHandler({
    access: {
      user: async (): Promise<UserInfo> => ({ username: 'hpa' }),
      check: async () => {
        checks++;
        if (!allowed) throw new StatusError(403, 'Forbidden', 'no');
      },
    },
    service,
    get fallback() {
      return fallsBack ? { values: async () => ({ from: 'another adapter' }) } : undefined;
    },
    offer: () => ({ custom: everything.names(), external: externalOn ? ['m'] : undefined }),
    notReady: () => undefined,
    version: '0.1.0',
    clock: new ShiftedClock(sampled),
    logger: silentLogger,
    meter,
  });
  server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});

afterEach(() => void server.close());

interface Body {
  items: { describedObject: { name: string }; value: string }[];
  message: string;
  [member: string]: unknown;
}

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body; headers: Headers }> {
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: (text.startsWith('{') ? JSON.parse(text) : { text }) as Body,
  };
}

test.each<[string, string, number]>([
  ['an unknown prefix', '/not/custom.metrics.k8s.io/v1beta2/nodes/foo/m', 404],
  ['a long prefix', `/1${custom}/`, 404],
  ['a bare name under the group', `${custom}/blah`, 404],
  ['a root resource without a metric', `${custom}/nodes/foo`, 404],
  ['a namespaced resource without a metric', `${custom}/namespaces/ns/pods/bar`, 404],
  ['a root resource in a namespace', `${custom}/namespaces/ns/nodes/foo/m`, 404],
  ['an unknown kind', `${custom}/namespaces/ns/widgets.shop/foo/m`, 404],
  ['one segment too many', `${custom}/namespaces/ns/pods/foo/m/n`, 404],
  ['an unknown version', `/apis/custom.metrics.k8s.io/v1/nodes/foo/m`, 404],
  ['all nodes', `${custom}/nodes/*/m`, 200],
  ['one node', `${custom}/nodes/foo/m`, 200],
  ['nodes by label', `${custom}/nodes/*/m?labelSelector=foo%3Dbar`, 200],
  ['all pods', `${custom}/namespaces/ns/pods/*/m`, 200],
  ['one pod', `${custom}/namespaces/ns/pods/foo/m`, 200],
  ['pods by label', `${custom}/namespaces/ns/pods/*/m?labelSelector=foo%3Dbar`, 200],
  ['a workload', `${custom}/namespaces/ns/deployments.apps/foo/m`, 200],
  ['a namespace', `${custom}/namespaces/ns/metrics/m`, 200],
  ['external, root scope', `${external}/m`, 404],
  ['external without a metric', `${external}/namespaces/ns`, 404],
  ['external with one segment too many', `${external}/namespaces/ns/m/n`, 404],
  ['external', `${external}/namespaces/ns/m`, 200],
  ['external, unknown', `${external}/namespaces/ns/unknown?labelSelector=a%3Db`, 200],
  ['the group', '/apis/custom.metrics.k8s.io', 200],
  ['the groups', '/apis', 200],
  ['the external version', external, 200],
  ['health', '/healthz', 200],
  ['liveness', '/livez', 200],
  ['readiness', '/readyz', 200],
  ['the version', '/version', 200],
  ['OpenAPI 2', '/openapi/v2', 200],
  ['OpenAPI 3', '/openapi/v3', 200],
])('%s: %s is %i', async (_, path, status) => {
  expect((await get(path)).status).toBe(status);
});

test('a list has the shape of its API version, milli quantities, and the time and window of the samples', async () => {
  const newer = await get(`${custom}/namespaces/ns/pods/foo/m?metricLabelSelector=verb%3DGET`);
  expect(newer.body).toEqual({
    kind: 'MetricValueList',
    apiVersion: 'custom.metrics.k8s.io/v1beta2',
    metadata: {},
    items: [
      {
        describedObject: { kind: 'Pod', namespace: 'ns', name: 'foo', apiVersion: '/v1' },
        metric: { name: 'm', selector: { matchLabels: { verb: 'GET' } } },
        timestamp: '2026-01-01T00:00:00Z',
        windowSeconds: 60,
        value: '1500m',
      },
    ],
  });
  const older = await get('/apis/custom.metrics.k8s.io/v1beta1/namespaces/ns/deployments.apps/bar/m');
  expect(older.body).toEqual({
    kind: 'MetricValueList',
    apiVersion: 'custom.metrics.k8s.io/v1beta1',
    metadata: {},
    items: [
      {
        describedObject: { kind: 'Deployment', namespace: 'ns', name: 'bar', apiVersion: 'apps/v1' },
        metricName: 'm',
        timestamp: '2026-01-01T00:00:00Z',
        window: 60,
        value: '2',
      },
    ],
  });
});

test('external values have their labels', async () => {
  values = { foo: 3 };
  const { body } = await get(`${external}/namespaces/ns/m`);
  expect(body).toMatchObject({ kind: 'ExternalMetricValueList', apiVersion: 'external.metrics.k8s.io/v1beta1' });
  expect(body.items[0]).toMatchObject({
    metricName: 'm',
    metricLabels: { k8s_pod_name: 'foo' },
    window: 60,
    value: '3',
  });
});

test('external metrics that are switched off do not exist', async () => {
  externalOn = false;
  expect((await get(`${external}/namespaces/ns/m`)).status).toBe(404);
  expect((await get(external)).status).toBe(404);
});

test('a NaN is left out of a list, and a request for its object alone gives 404', async () => {
  values = { foo: NaN, bar: 2 };
  const { items } = (await get(`${custom}/namespaces/ns/pods/*/m`)).body;
  expect(items.map(({ describedObject }) => describedObject.name)).toEqual(['bar']);
  const { status, body } = await get(`${custom}/namespaces/ns/pods/foo/m`);
  expect([status, body.message]).toEqual([404, 'the server could not find the metric m for pods foo']);
});

test('an unknown metric gives the error that autoscalers know', async () => {
  const { status, body } = await get(`${custom}/namespaces/ns/pods/*/unknown`);
  expect(status).toBe(404);
  expect(body).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'NotFound',
    code: 404,
    message: 'the server could not find the metric unknown for pods',
  });
});

test('a failure of the store is reported without details', async () => {
  failing = true;
  const { status, body } = await get(`${custom}/namespaces/ns/pods/*/m`);
  expect([status, body['reason'], body.message]).toEqual([500, 'InternalError', 'unable to fetch metrics']);
});

test('a caller without the right is refused with 403, discovery too; health stays open', async () => {
  allowed = false;
  expect((await get(`${custom}/namespaces/ns/pods/*/m`)).status).toBe(403);
  expect((await get(custom)).status).toBe(403);
  expect((await get('/healthz')).status).toBe(200);
});

test('beside a second adapter, a metric that a monitor declares for its namespace is served', async () => {
  fallsBack = true;
  values = { ns: 7 };
  const { status, body } = await get(`${custom}/namespaces/ns/metrics/busy`);
  expect([status, body.items]).toMatchObject([200, [{ describedObject: { name: 'ns' }, value: '7' }]]);
  expect((await get(`${custom}/namespaces/other/metrics/busy`)).body).toEqual({ from: 'another adapter' });
  expect((await get(`${custom}/namespaces/ns/metrics/unknown`)).body).toEqual({ from: 'another adapter' });
  expect((await get(`${custom}/namespaces/ns/pods/*/m`)).body).toMatchObject({ kind: 'MetricValueList' });
});

test('while one source of metrics is not ready, no later source answers in its place', async () => {
  unready = 'the series of the rules are not known';
  const preset = `${custom}/namespaces/ns/pods/*/http_requests_per_second`;
  const refused = await get(preset);
  expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining(unready)]);
  expect((await get(`${custom}/namespaces/ns/pods/*/m`)).status).toBe(200);
  unready = undefined;
  expect((await get(preset)).status).toBe(200);
});

test('a selector that cannot be read gives 400', async () => {
  expect((await get(`${custom}/namespaces/ns/pods/*/m?metricLabelSelector=%3D`)).status).toBe(400);
});

describe('with a node missing', () => {
  beforeEach(() => {
    missingNodes = ['node-3'];
    values = { foo: 1 };
  });

  test('its pods are omitted, and the answer is not cached', async () => {
    const { status, body, headers } = await get(`${custom}/namespaces/ns/pods/*/m`);
    expect([status, body.items.map(({ describedObject }) => describedObject.name)]).toEqual([200, ['foo']]);
    expect(headers.get('cache-control')).toBe('no-store');
    await get(`${custom}/namespaces/ns/pods/*/m`);
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['a pod that is not there', `${custom}/namespaces/ns/pods/bar/m`],
    ['a workload', `${custom}/namespaces/ns/deployments.apps/foo/m`],
    ['a namespace', `${custom}/namespaces/ns/metrics/m`],
    ['an expression over several nodes', `${custom}/namespaces/ns/pods/*/total`],
    ['traffic to pods, which several nodes record', `${custom}/namespaces/ns/pods/*/received`],
    ['an external value', `${external}/namespaces/ns/m`],
  ])('%s gives 503, never a smaller number', async (_, path) => {
    const { status, body } = await get(path);
    expect([status, body['reason']]).toEqual([503, 'ServiceUnavailable']);
    expect(body.message).toContain('node-3');
  });
});

test('a departed node counts as missing if values are read from its data, not if only sample times are', async () => {
  readParts = [];
  await get(`${custom}/namespaces/ns/pods/*/total`);
  expect(asked).toEqual([expect.stringContaining('timestamp(x)')]);
  expect(readParts).toEqual(['sum(x) by (other)']);
});

test('a complete answer is shared by simultaneous requests, and by requests shortly after', async () => {
  let answer = (): void => {};
  evaluation = new Promise((resolve) => (answer = resolve));
  const path = `${custom}/namespaces/ns/pods/*/m`;
  const together = [get(path), get(`${path}?labelSelector=app%3Dnone`), get(path)];
  await until('all three', () => checks === 3 && asked.length > 0);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  answer();
  expect((await Promise.all(together)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await get(path)).body.items).toHaveLength(2);
  expect(asked).toHaveLength(1);
});

test('the aggregated discovery lists metrics as subresources', async () => {
  const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const { body, headers } = await get('/apis', { accept: `${type},application/json` });
  expect(headers.get('content-type')).toBe(type);
  expect(body).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' });
  expect(body.items[0]).toMatchObject({
    metadata: { name: 'custom.metrics.k8s.io' },
    versions: [{ version: 'v1beta2' }, { version: 'v1beta1' }],
  });
});

test('the resource list names each metric with its kind', async () => {
  const { body } = await get(custom);
  expect(body).toEqual({
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'custom.metrics.k8s.io/v1beta2',
    resources: [{ name: 'pods/m', singularName: '', namespaced: true, kind: 'MetricValueList', verbs: ['get'] }],
  });
});

test('OpenAPI describes every path and the types of the answers, in both versions', async () => {
  interface Document {
    paths: Record<string, { get: { operationId: string; parameters: { name: string }[] } }>;
    definitions: Record<string, { properties: object; required: string[] }>;
    components: { schemas: Record<string, object> };
  }
  const v2 = (await get('/openapi/v2')).body as unknown as Document;
  const pods = `${custom}/namespaces/{namespace}/{resource}/{name}/{metric}`;
  expect(Object.keys(v2.paths)).toHaveLength(7);
  expect(v2.paths[pods]!.get).toMatchObject({
    operationId: 'listCustomMetricsV1beta2NamespacedMetric',
    responses: { 200: { schema: { $ref: expect.stringMatching(/v1beta2\.MetricValueList$/) } } },
    'x-kubernetes-group-version-kind': { group: 'custom.metrics.k8s.io', version: 'v1beta2', kind: 'MetricValueList' },
  });
  const ids = Object.values(v2.paths).map((path) => path.get.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const index = (await get('/openapi/v3')).body as unknown as { paths: Record<string, { serverRelativeURL: string }> };
  const { serverRelativeURL } = index.paths['apis/custom.metrics.k8s.io/v1beta2']!;
  expect(serverRelativeURL).toMatch(/\?hash=[0-9A-F]{64}$/);
  const v3 = (await get(serverRelativeURL)).body as unknown as Document;
  expect(v3.paths[pods]!.get.parameters.map(({ name }) => name)).toEqual([
    ...['namespace', 'resource', 'name', 'metric', 'labelSelector', 'metricLabelSelector'],
  ]);
  // Every member of an answer is described, and every reference leads somewhere.
  const type = 'io.k8s.metrics.pkg.apis.custom_metrics.v1beta2.MetricValue';
  const { items } = (await get(`${custom}/namespaces/ns/pods/*/m`)).body;
  const described = v2.definitions[type]!;
  expect(Object.keys(items[0]!).filter((key) => !(key in described.properties))).toEqual([]);
  for (const [document, known] of [
    [v2, v2.definitions],
    [v3, v3.components.schemas],
  ] as const) {
    const names = [...JSON.stringify(document).matchAll(/"\$ref":"[^"]*\/([^"/]+)"/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !(name in known))).toEqual([]);
  }
});
