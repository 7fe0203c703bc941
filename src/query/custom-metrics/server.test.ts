import { Agent, request } from 'node:https';
import { trafficMonitors } from '../../api/v1alpha1/index.ts';
import { Registry } from 'prom-client';
import { systemClock } from '../../base/clock.ts';
import { createLogger, silentLogger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import { coreResources } from '../../kube/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../net/ca.ts';
import { Health, SharedCache } from '../../runtime/index.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { startAgentCluster, type AgentCluster } from '../../testing/query/agent-cluster.ts';
import { until } from '../../testing/until.ts';
import { querySettingTable, startQueryServer } from '../index.ts';
import type { QueryServer } from '../index.ts';
import { startCustomMetrics, type CustomMetricsServer } from './server.ts';

const now = Math.floor(Date.now() / 1000) * 1000;
const api = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop';
const nodes = ['node-1', 'node-2'];
const pods = [
  ['node-1', 'web-a', 10],
  ['node-1', 'web-b', 20],
  ['node-2', 'web-c', 40],
] as const;

let cluster: AgentCluster;
let kube: FakeApiServer;
let query: QueryServer;
let server: CustomMetricsServer;
let options: Parameters<typeof startCustomMetrics>[0];
let frontProxyCa: KeyPairPem;
let proxy: KeyPairPem;
/** Answers from before the cache was started. */
let early: { readyz: Response; value: Answer };
const stop = new AbortController();

const putCas = (ca: string): void =>
  void kube.put(coreResources.configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
    data: {
      'requestheader-client-ca-file': ca,
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-username-headers': '["X-Remote-User"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    },
  });
const proxyOf = (ca: KeyPairPem): Promise<KeyPairPem> =>
  issueLeaf(ca, { commonName: 'front-proxy-client', dnsNames: [] }, { now });

beforeAll(async () => {
  cluster = await startAgentCluster(nodes, systemClock);
  for (const [node, pod, perSecond] of pods) {
    const labels = {
      __name__: 'http_server_request_duration_count',
      k8s_namespace_name: 'shop',
      k8s_pod_name: pod,
      k8s_deployment_name: 'web',
      service_name: 'web',
      http_response_status_code: '200',
    };
    // Samples reach far into the future, so that a slow machine sees the same rates.
    for (let k = 0; k <= 60; k++) cluster.append(node, labels, now + (5 * k - 90) * 1000, 5 * k * perSecond);
  }
  frontProxyCa = await createCa({ commonName: 'front-proxy-ca', now });
  proxy = await proxyOf(frontProxyCa);
  kube = await FakeApiServer.start({ resources: [trafficMonitors] });
  putCas(frontProxyCa.cert);
  for (const [, name] of pods) {
    const metadata = { name, namespace: 'shop', labels: { app: 'web', tier: name === 'web-b' ? 'b' : 'a' } };
    kube.put(coreResources.pods, { apiVersion: 'v1', kind: 'Pod', metadata });
  }
  const autoscaling = {
    metrics: [{ name: 'busy', resource: 'pods', expr: 'rate(http_server_request_duration_count[30s]) / 10' }],
  };
  kube.put(trafficMonitors, {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { mode: 'Capture', selector: {}, autoscaling },
  });
  const flags = {
    namespace: 'svc-system',
    bindAddress: '127.0.0.1',
    port: '0',
    healthPort: '0',
    customMetricsPort: '0',
    agentReadPort: String(cluster.port),
    agentTimeout: '5s',
  };
  const settings = readSettings(querySettingTable, { flags, env: {}, prefix: 'SVC_' });
  const client = kube.client(systemClock);
  const cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
  const common = { settings, clock: systemClock, logger: silentLogger, tls: cluster.tls, version: '0.1.0' };
  const directory = { agents: () => cluster.expected, synced: true };
  const reviews = { reviewToken: async () => undefined, mayAccessPath: async () => true };
  query = await startQueryServer({ ...common, directory, reviews });
  options = {
    ...common,
    client,
    cache,
    directory,
    reviews: { ...reviews, mayAccessResource: async ({ username }) => username === 'hpa' },
    instant: (text, timeMs, options) => query.runner.instant(text, timeMs, options),
    registry: query.registry,
    readiness: query.readiness,
  };
  server = await startCustomMetrics(options);
  early = { readyz: await readyz(), value: await get(`${api}/pods/*/busy`) };
  cache.start(stop.signal);
  await until('readiness', async () => (await get('/readyz')).status === 200);
});

afterAll(async () => {
  stop.abort();
  await server.close();
  await query.close();
  await cluster.close();
  await kube.stop();
});

const readyz = (): Promise<Response> => fetch(`http://127.0.0.1:${query.healthPort}/readyz?verbose`);

interface Answer {
  status: number;
  body: { items: { describedObject: { name: string }; value: string; timestamp: string }[]; message: string };
}

function get(
  path: string,
  certificate: KeyPairPem | undefined = proxy,
  user = 'hpa',
  agent: Agent | false = false,
  port = server.port,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      ca: cluster.ca.cert,
      servername: 'svc-query.svc-system.svc',
      agent,
      headers: { 'x-remote-user': user, 'x-remote-group': 'system:authenticated' },
      ...(certificate ? { cert: certificate.cert, key: certificate.key } : {}),
    };
    const req = request(options, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('end', () => {
        const text = Buffer.concat(parts).toString();
        resolve({
          status: res.statusCode ?? 0,
          body: (text.startsWith('{') ? JSON.parse(text) : {}) as Answer['body'],
        });
      });
    });
    req.on('error', reject);
    req.end();
  });
}
const valuesOf = ({ body }: Answer): Record<string, number> =>
  Object.fromEntries(
    body.items.map(({ describedObject, value }) => [
      describedObject.name,
      value.endsWith('m') ? Number(value.slice(0, -1)) / 1000 : Number(value),
    ]),
  );

test('a metric of pods has the rates of all nodes, with the times of their last samples', async () => {
  const answer = await get(`${api}/pods/*/http_requests_per_second`);
  expect(valuesOf(answer)).toEqual({
    'web-a': expect.closeTo(10, 0),
    'web-b': expect.closeTo(20, 0),
    'web-c': expect.closeTo(40, 0),
  });
  expect(answer.body.items).toHaveLength(3);
  for (const { timestamp } of answer.body.items) {
    expect((Date.parse(timestamp) - now) % 5_000).toBe(0);
    expect(Date.parse(timestamp)).toBeLessThanOrEqual(Date.now());
  }
});

test('a label selector picks pods; a workload and a namespace have the sum of their pods', async () => {
  const some = await get(`${api}/pods/*/http_requests_per_second?labelSelector=app%3Dweb%2Ctier%20in%20(b)`);
  expect(Object.keys(valuesOf(some))).toEqual(['web-b']);
  expect(valuesOf(await get(`${api}/deployments.apps/web/http_requests_per_second`))).toEqual({
    web: expect.closeTo(70, 0),
  });
  expect(valuesOf(await get(`${api}/metrics/http_requests_per_second`))).toEqual({ shop: expect.closeTo(70, 0) });
});

test('the error ratio of a pod without failed requests is zero', async () => {
  expect(valuesOf(await get(`${api}/pods/web-a/http_request_error_ratio`))).toEqual({ 'web-a': 0 });
});

test('a metric label selector picks series', async () => {
  const path = `${api}/pods/*/http_requests_per_second?metricLabelSelector=http_response_status_code%3D`;
  expect(Object.keys(valuesOf(await get(`${path}200`)))).toEqual(['web-a', 'web-b', 'web-c']);
  expect((await get(`${path}500`)).body.items).toEqual([]);
});

test('an expression in a monitor is served under the metric name that the monitor gives it', async () => {
  await until('the metric', async () => (await get(`${api}/pods/*/busy`)).status === 200);
  expect(valuesOf(await get(`${api}/pods/*/busy`))).toMatchObject({ 'web-c': expect.closeTo(4, 0) });
});

test('user headers of clients other than the front proxy are refused, and users without permission too', async () => {
  expect((await get(`${api}/pods/*/busy`, proxy, 'somebody')).status).toBe(403);
  const stranger = await proxyOf(await createCa({ commonName: 'front-proxy-ca', now }));
  const refused = await get(`${api}/pods/*/busy`, stranger);
  expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('system:anonymous')]);
});

test('the front proxy gets a new CA, and the old one is refused after its removal', async () => {
  const next = await createCa({ commonName: 'front-proxy-ca-2', now });
  const newProxy = await proxyOf(next);
  putCas(`${frontProxyCa.cert}\n${next.cert}`);
  await until('trust in the new CA', async () => (await get(`${api}/pods/*/busy`, newProxy)).status === 200);
  expect((await get(`${api}/pods/*/busy`)).status).toBe(200);
  putCas(next.cert);
  await until('the end of the old CA', async () => (await get(`${api}/pods/*/busy`)).status === 403);
});

test('a kept connection whose certificate was not trusted yet makes way for one that is', async () => {
  const next = await createCa({ commonName: 'front-proxy-ca-3', now });
  const newProxy = await proxyOf(next);
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (): Promise<number> => (await get(`${api}/pods/*/busy`, newProxy, 'hpa', kept)).status;
  expect(await ask()).toBe(403);
  putCas(next.cert);
  await until('trust in the new CA', async () => (await get(`${api}/pods/*/busy`, newProxy)).status === 200);
  expect(await ask()).toBe(200);
  kept.destroy();
});

test('until the CAs of the API server are known, the pod is not ready and an unknown caller has to try again', async () => {
  expect(early.value.status).toBe(503);
  expect(early.readyz.status).toBe(503);
  expect(await early.readyz.text()).toContain('the authentication configuration of the API server is not known');
  expect((await readyz()).status).toBe(200);
});

test('autoscalers that can never be served keep the pod from being ready for two minutes only, which is logged once', async () => {
  const [clock, readiness, log] = [new FakeClock(), new Health(), [] as string[]];
  const logger = createLogger({ write: (line) => void log.push(line) });
  const cache = new SharedCache({ client: options.client, clock, logger });
  const alone = await startCustomMetrics({ ...options, clock, logger, cache, readiness, registry: new Registry() });
  await clock.advance(119_999);
  expect(await readiness.run()).toMatchObject({
    ok: false,
    checks: [{ reason: expect.stringContaining('not known') }],
  });
  await clock.advance(1);
  for (let i = 0; i < 2; i++) expect(await readiness.run()).toMatchObject({ ok: true });
  expect(log.filter((line) => line.includes('not known'))).toHaveLength(1);
  expect((await get('/readyz', proxy, 'hpa', false, alone.port)).status).toBe(503);
  await alone.close();
});

test('while a node is missing, its pods are omitted, sums are refused, and the refusals are counted', async () => {
  putCas(frontProxyCa.cert);
  await until('trust', async () => (await get(`${api}/pods/*/busy`)).status === 200);
  await cluster.agents[1]!.stop();
  const names = async (): Promise<string> =>
    Object.keys(valuesOf(await get(`${api}/pods/*/http_requests_per_second`))).join();
  await until('a list without the pods of node-2', async () => (await names()) === 'web-a,web-b');
  const askSum = (): ReturnType<typeof get> => get(`${api}/deployments.apps/web/http_requests_per_second`);
  // A complete sum of a moment ago may still be served.
  await until('the end of the last complete sum', async () => (await askSum()).status !== 200);
  const sum = await askSum();
  expect([sum.status, sum.body.message]).toEqual([503, expect.stringContaining('node-2')]);
  const text = await query.registry.metrics();
  expect(text).toMatch(/svc_custom_metrics_degraded_total\{outcome="refused"\} [1-9]/);
  expect(text).toMatch(/svc_custom_metrics_freshness_seconds_count [1-9]/);
  expect(text).toContain('svc_custom_metrics_names{source="monitor"} 1');
});
