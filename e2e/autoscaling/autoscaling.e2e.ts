/** A real HorizontalPodAutoscaler, controller manager and aggregator, on metrics of captured traffic. */
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { readyPods } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';
import { caRotation } from '../cluster/ca-rotation.ts';
import { foreignName, foreignOwner, registration } from './foreign-registration.ts';
import { autoscaler, monitor } from './manifests.ts';
import { startAutoscalingStage, type AutoscalingStage } from './stage.ts';
import type { Conditions, Values } from './answers.ts';
import { describedWorkloads, scheduledJob, workloadKinds } from './workload-kinds.ts';

const api = '/apis/custom.metrics.k8s.io/v1beta2';
let stage: AutoscalingStage;
const replicas = async (): Promise<number> =>
  (await stage.raw<{ spec: { replicas: number } }>('/apis/apps/v1/namespaces/shop/deployments/catalog')).spec.replicas;
const apply = (object: object): Promise<string> =>
  stage.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) });
const autoscalerState = (): Promise<{ status?: { desiredReplicas?: number } }> =>
  stage.cluster.api.request('GET', '/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/catalog');

/** Waits until this condition of the policy has the reason. Returns the policy. */
const policyWith = (type: string, reason: string): Promise<Conditions> =>
  until(
    `${type} ${reason}`,
    () => stage.cluster.api.request<Conditions>('GET', '/apis/svc.dev/v1alpha1/clustertrafficpolicies/default'),
    {
      good: ({ status }) => status?.conditions?.some((c) => c.type === type && c.reason === reason) === true,
      timeoutMs: 90_000,
    },
  );

/** Names of the shop's pods on a node. */
const podsOn = async (node: string): Promise<string[]> => {
  const where = ['-n', 'shop', 'get', 'pods', `--field-selector=spec.nodeName=${node}`];
  return (await stage.kubectl(...where, '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
};

beforeAll(async () => {
  stage = await startAutoscalingStage();
  await apply(monitor);
  stage.load(16);
}, 240_000);

afterAll(async () => {
  await stage?.stop();
}, 60_000);

test('a foreign APIService is left alone and reported; ours exist in both versions once it is gone', async () => {
  const before = await registration(stage.cluster, 'v1beta1');
  const { status } = await policyWith('CustomMetricsAvailable', 'ForeignAPIService');
  const told = status!.conditions!.find(({ type }) => type === 'CustomMetricsAvailable')!;
  expect(told.status).toBe('False');
  expect(told.message).toContain(`${foreignName} belongs to Service monitoring/prometheus-adapter and is left alone`);
  // The query server is available: only the foreign APIService keeps ours from being registered.
  await stage.cluster.kubectl(
    ['-n', 'svc-system', 'wait', '--for=condition=Available', '--timeout=120s', 'deployment/svc-query'],
    { timeoutMs: 130_000 },
  );
  const after = await registration(stage.cluster, 'v1beta1');
  const { uid, labels } = after.metadata;
  expect([uid, labels, after.spec]).toEqual([before.metadata.uid, before.metadata.labels, before.spec]);
  expect(after.spec).toMatchObject({ service: foreignOwner, insecureSkipTLSVerify: true });
  await expect(registration(stage.cluster, 'v1beta2')).rejects.toMatchObject({ status: 404 });
  await stage.kubectl('delete', 'apiservice', foreignName);
  const ours = { service: { namespace: 'svc-system', name: 'svc-query' }, caBundle: expect.any(String) as string };
  for (const version of ['v1beta1', 'v1beta2'] as const) {
    const { spec } = await until(`the registration of ${version}`, () => registration(stage.cluster, version), {
      good: () => true,
      timeoutMs: 90_000,
    });
    expect(spec).toMatchObject(ours);
    expect(spec.insecureSkipTLSVerify).toBeUndefined();
  }
}, 300_000);

test('the aggregator reports the API as available in both versions', async () => {
  const available = ['wait', '--for=condition=Available', '--timeout=120s'];
  await stage.cluster.kubectl(
    [...available, 'apiservice/v1beta2.custom.metrics.k8s.io', 'apiservice/v1beta1.custom.metrics.k8s.io'],
    {
      timeoutMs: 130_000,
    },
  );
  const { groups } = await stage.raw<{ groups: { name: string; preferredVersion: { version: string } }[] }>('/apis');
  expect(groups.find(({ name }) => name === 'custom.metrics.k8s.io')?.preferredVersion.version).toBe('v1beta2');
  // The aggregator's proxy learns of the condition through a watch, and answers 503 itself until then.
  const { resources } = await until('the list of metrics', () => stage.raw<{ resources: { name: string }[] }>(api), {
    good: () => true,
    timeoutMs: 10_000,
  });
  expect(resources.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['pods/catalog_rps', 'nodes/http_requests_per_second']),
  );
});

test('captured request rates of pods come through the aggregator, each with its own time and window', async () => {
  const path = `${api}/namespaces/shop/pods/*/catalog_rps?labelSelector=app%3Dcatalog`;
  const list = await until('rates of both pods', () => stage.raw<Values>(path), {
    good: ({ items }) => items.length === 2 && items.every(({ value }) => parseFloat(value) > 0),
    timeoutMs: 90_000,
  });
  expect(list).toMatchObject({ kind: 'MetricValueList', apiVersion: 'custom.metrics.k8s.io/v1beta2' });
  for (const { timestamp, windowSeconds } of list.items) {
    expect(windowSeconds).toBe(20);
    expect(Date.now() - Date.parse(timestamp)).toBeLessThan(30_000);
  }
});

test('workloads of every kind, nodes and namespaces have values through the aggregator', async () => {
  const metric = 'http_requests_per_second';
  const [node] = stage.cluster.nodes;
  try {
    await apply(workloadKinds(node!.name));
    await stage.kubectl('-n', 'shop', 'create', 'job', scheduledJob, '--from=cronjob/kinds-cron');
    await until('pods of all kinds', () => readyPods(stage.cluster, 'shop', 'app=kinds'), {
      good: (pods) => pods.length === 4,
    });
    const ofCatalog = [
      '-n',
      'shop',
      'get',
      'replicasets',
      '-l',
      'app=catalog',
      '-o',
      'jsonpath={.items[0].metadata.name}',
    ];
    const paths = describedWorkloads(node!.name, await stage.kubectl(...ofCatalog));
    expect(paths.length).toBeGreaterThan(5);
    for (const { path, kind, name } of paths) {
      const found = ({ items }: Values): boolean =>
        items.some(({ describedObject, value }) => describedObject.name === name && parseFloat(value) > 0);
      const list = await until(`${path} ${name}`, () => stage.raw<Values>(`${api}/${path}/*/${metric}`), {
        good: found,
      });
      const one = await stage.raw<Values>(`${api}/${path}/${name}/${metric}`);
      expect(one.items).toEqual([
        expect.objectContaining({ describedObject: expect.objectContaining({ kind, name }), windowSeconds: 60 }),
      ]);
      expect(list.items.every(({ describedObject }) => describedObject.kind === kind)).toBe(true);
    }
    const namespace = await stage.raw<Values>(`${api}/namespaces/shop/metrics/${metric}`);
    expect(namespace.items).toMatchObject([{ describedObject: { kind: 'Namespace', name: 'shop' } }]);
    const labelled = `${api}/namespaces/shop/statefulsets.apps/*/${metric}?labelSelector=`;
    expect((await stage.raw<Values>(`${labelled}app%3Dkinds`)).items).toHaveLength(1);
    expect((await stage.raw<Values>(`${labelled}app%3Dcatalog`)).items).toEqual([]);
  } finally {
    // The pods of these workloads would take a share of the load and count in the namespace's value.
    const everything = ['statefulsets,daemonsets,jobs,cronjobs,pods', '-l', 'app=kinds'];
    await stage.kubectl('-n', 'shop', 'delete', ...everything, '--wait=false');
    await stage.kubectl('-n', 'shop', 'delete', 'job', scheduledJob, '--ignore-not-found', '--wait=false');
  }
}, 150_000);

test('the paths of the upstream conformance test answer as upstream expects, in both versions', async () => {
  const status = (path: string): Promise<string> =>
    stage.kubectl('get', '--raw', path).then(
      () => 'found',
      (error: Error) => (/not ?found|could not find/i.test(error.message) ? 'not found' : error.message),
    );
  const [pod] = await readyPods(stage.cluster, 'shop', 'app=catalog');
  const metric = 'http_requests_per_second';
  const node = (await stage.raw<Values>(`${api}/nodes/*/${metric}`)).items[0]!.describedObject.name;
  for (const version of ['v1beta1', 'v1beta2']) {
    const base = api.replace('v1beta2', version);
    const expected = {
      'not found': ['blah', 'nodes/foo', 'namespaces/shop/pods/bar', `namespaces/shop/nodes/foo/${metric}`],
      found: [
        ...[`nodes/*/${metric}`, `nodes/*/${metric}?labelSelector=foo%3Dbar`, `nodes/${node}/${metric}`],
        ...[`namespaces/shop/pods/*/${metric}`, `namespaces/shop/pods/${pod!.name}/${metric}`],
        ...[`namespaces/shop/pods/*/${metric}?labelSelector=app%3Dcatalog`, `namespaces/shop/metrics/${metric}`],
        ...[`namespaces/shop/deployments.apps/catalog/${metric}`],
      ],
    };
    for (const [outcome, paths] of Object.entries(expected)) {
      for (const path of paths) expect([path, await status(`${base}/${path}`)]).toEqual([path, outcome]);
    }
  }
  const old = await stage.raw<{ apiVersion: string; items: object[] }>(
    `${api.replace('v1beta2', 'v1beta1')}/namespaces/shop/pods/${pod!.name}/${metric}`,
  );
  expect(old).toMatchObject({
    apiVersion: 'custom.metrics.k8s.io/v1beta1',
    items: [{ describedObject: { kind: 'Pod', name: pod!.name, apiVersion: '/v1' }, metricName: metric, window: 60 }],
  });
  await expect(stage.kubectl('get', '--raw', `${api}/namespaces/shop/pods/*/nothing`)).rejects.toThrow(
    'the server could not find the metric nothing for pods',
  );
}, 60_000);

test('a direct call is identified by its bearer token, and not by X-Remote headers', async () => {
  const [pod] = await readyPods(stage.cluster, 'svc-system', 'app.kubernetes.io/component=query');
  const bundle = ['-n', 'svc-system', 'get', 'configmap', 'svc-ca-bundle', '-o', 'jsonpath={.data.ca\\.crt}'];
  const ca = await stage.kubectl(...bundle);
  const ask = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = { host: pod!.ip, port: 6443, ca, servername: 'svc-query.svc-system.svc', headers, agent: false };
      const path = `${api}/namespaces/shop/pods/*/http_requests_per_second`;
      request({ ...options, path }, (res) => resolve(res.resume().statusCode!))
        .on('error', reject)
        .end();
    });
  await stage.kubectl('-n', 'shop', 'create', 'serviceaccount', 'reader');
  const viewer = ['rolebinding', 'reader', '--clusterrole=view', '--serviceaccount=shop:reader'];
  await stage.kubectl('-n', 'shop', 'create', ...viewer);
  const token = (await stage.kubectl('-n', 'shop', 'create', 'token', 'reader')).trim();
  expect(await ask({ authorization: `Bearer ${token}` })).toBe(200);
  expect(await ask({ authorization: 'Bearer invented' })).toBe(401);
  expect(await ask({})).toBe(403);
  expect(await ask({ 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' })).toBe(403);
}, 60_000);

test('a user without access to a metric is refused, and a user who may view the namespace is served', async () => {
  const path = `${api}/namespaces/shop/pods/*/catalog_rps`;
  const nobody = ['--as=somebody', '--as-group=system:authenticated'];
  await expect(stage.kubectl('get', '--raw', path, ...nobody)).rejects.toThrow(/forbidden/i);
  await stage.kubectl('-n', 'shop', 'create', 'rolebinding', 'viewer', '--clusterrole=view', '--user=somebody');
  await until('the right to view', () => stage.kubectl('get', '--raw', path, ...nobody), {
    good: (text) => text.includes('MetricValueList'),
  });
});

test('workloads are selected by their own labels, and rules of another adapter work unchanged', async () => {
  await stage.kubectl('-n', 'shop', 'label', 'deployment', 'catalog', 'tier=front');
  const of = (selector: string): string =>
    `${api}/namespaces/shop/deployments.apps/*/catalog_rps_total?labelSelector=${encodeURIComponent(selector)}`;
  const front = await until('the labelled workload', () => stage.raw<Values>(of('tier=front')), {
    good: ({ items }) => items.length === 1,
  });
  expect(front.items[0]!.describedObject.name).toBe('catalog');
  expect((await stage.raw<Values>(of('tier=back'))).items).toEqual([]);
  const rules = `
rules:
  - seriesQuery: 'http_server_request_duration_count{k8s_namespace_name!="",k8s_pod_name!=""}'
    resources: {overrides: {k8s_namespace_name: {resource: namespace}, k8s_pod_name: {resource: pod}}}
    name: {matches: '^(.*)_count$', as: 'brought_along'}
    metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[30s])) by (<<.GroupBy>>)'
`;
  await apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'svc-custom-metrics-rules', namespace: 'svc-system' },
    data: { 'config.yaml': rules },
  });
  await until(
    'rates by the rule',
    () => stage.raw<Values>(`${api}/namespaces/shop/pods/*/brought_along?labelSelector=app%3Dcatalog`),
    { good: ({ items }) => items.length === 2, timeoutMs: 150_000 },
  );
}, 200_000);

test('metrics of a second adapter come through the aggregator, requested with our own identity', async () => {
  const { second } = stage;
  const nobody = ['--as=nobody', '--as-group=system:authenticated'];
  const path = `${api}/namespaces/shop/pods/*/queue_depth?labelSelector=app%3Dcatalog`;
  await expect(stage.kubectl('get', '--raw', path, ...nobody)).rejects.toThrow(/forbidden/i);
  // The aggregator sends `*` as `%2A`.
  const asked = (): string[] =>
    second.requests.map(({ url }) => url.replace('%2A', '*')).filter((url) => url.includes('queue_depth'));
  expect(asked()).toEqual([]);
  for (const version of ['v1beta2', 'v1beta1']) {
    const base = api.replace('v1beta2', version);
    const list = await stage.raw<Values>(`${base}/namespaces/shop/services/catalog/queue_depth`);
    expect(list).toMatchObject({
      apiVersion: `custom.metrics.k8s.io/${version}`,
      items: [{ describedObject: { kind: 'Service', name: 'catalog' }, value: '4200m' }],
    });
  }
  expect((await stage.raw<Values>(path)).items).toMatchObject([{ value: '4200m' }]);
  expect(asked().at(-1)).toBe(path);
  expect([...second.users]).toEqual(['system:serviceaccount:svc-system:svc-query']);
  const identities = second.requests
    .flatMap(({ headers }) => Object.keys(headers))
    .filter((key) => /remote|imperson/.test(key));
  expect(identities).toEqual([]);
  const { resources } = await stage.raw<{ resources: { name: string }[] }>(api);
  const names = resources.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['services/queue_depth', 'pods/catalog_rps']));
  expect(new Set(names).size).toBe(names.length);
  second.broken = 500;
  try {
    await expect(stage.kubectl('get', '--raw', path)).rejects.toThrow(
      `second adapter ${second.url}, which failed: HTTP 500`,
    );
    expect((await stage.raw<Values>(`${api}/namespaces/shop/pods/*/catalog_rps`)).items).toHaveLength(2);
  } finally {
    second.broken = undefined;
  }
}, 60_000);

test('the aggregator publishes the types of our answers in its OpenAPI', async () => {
  const type = 'io.k8s.metrics.pkg.apis.custom_metrics.v1beta2.MetricValueList';
  const { definitions } = await until(
    'the definitions',
    () => stage.raw<{ definitions: Record<string, unknown> }>('/openapi/v2'),
    { good: (document) => type in document.definitions, timeoutMs: 90_000 },
  );
  // The types of other APIs are still published: ours do not replace them.
  expect(Object.keys(definitions)).toContain('io.k8s.api.core.v1.Pod');
  const { components } = await stage.raw<{ components: { schemas: object } }>(
    '/openapi/v3/apis/custom.metrics.k8s.io/v1beta2',
  );
  expect(Object.keys(components.schemas)).toContain(type);
}, 120_000);

test('no request to the API fails while the CA is replaced and the old one is retired', async () => {
  const ca = await caRotation(stage.cluster.api, (args) => stage.kubectl(...args));
  const failures: string[] = [];
  let answers = 0;
  let rotating = true;
  const asking = (async () => {
    while (rotating) {
      // Without a pause the requests alone would keep a core busy.
      await delay(100);
      await stage.raw<Values>(`${api}/namespaces/shop/pods/*/catalog_rps`).then(
        ({ items }) => (items.length === 2 ? answers++ : failures.push(`${items.length} pods`)),
        (error: Error) => failures.push(error.message),
      );
    }
  })();
  try {
    await ca.distribute();
    await ca.sign();
    await ca.retire();
    const before = answers;
    await until('answers after it', async () => answers, { good: (n) => n > before + 5 });
  } finally {
    rotating = false;
    await asking;
  }
  expect(failures).toEqual([]);
}, 240_000);

test('a foreign APIService for external metrics is left alone; ours replaces it once it is gone', async () => {
  const name = 'v1beta1.external.metrics.k8s.io';
  const service = { namespace: 'keda', name: 'keda-operator-metrics-apiserver' };
  await apply({
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name },
    spec: {
      ...{ group: 'external.metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
      ...{ service, insecureSkipTLSVerify: true },
    },
  });
  const patch = [{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--external-metrics=auto' }];
  const target = ['-n', 'svc-system', 'patch', 'deployment', 'svc-controller', '--type=json'];
  await stage.kubectl(...target, '-p', JSON.stringify(patch));
  const told = await policyWith('ExternalMetricsAvailable', 'ForeignAPIService');
  expect(JSON.stringify(told.status)).toContain('Service keda/keda-operator-metrics-apiserver and is left alone');
  const owner = ['get', 'apiservice', name, '-o', 'jsonpath={.spec.service.name}'];
  expect(await stage.kubectl(...owner)).toBe(service.name);
  await stage.kubectl('delete', 'apiservice', name);
  await until('the registration', () => stage.kubectl(...owner), {
    good: (text) => text === 'svc-query',
    timeoutMs: 90_000,
  });
  const wait = ['wait', '--for=condition=Available', '--timeout=120s', `apiservice/${name}`];
  await stage.cluster.kubectl(wait, { timeoutMs: 130_000 });
  const path = '/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/http_requests_per_second';
  const list = await until(
    'rows',
    () => stage.raw<{ kind: string; items: { metricName: string; value: string }[] }>(path),
    { good: ({ items }) => items.length > 0 },
  );
  expect(list).toMatchObject({ kind: 'ExternalMetricValueList', items: [{ metricName: 'http_requests_per_second' }] });
  // For a moment a query server that was started without the option may still answer.
  await until(
    'no rows for an unknown metric',
    () => stage.raw<Values>(path.replace('http_requests_per_second', 'unknown')),
    { good: ({ items }) => items.length === 0 },
  );
  const queue = await until(
    'rows of the second adapter',
    () => stage.raw<Values>(path.replace('http_requests_per_second', 'queue_length')),
    { good: ({ items }) => items.length > 0 },
  );
  expect(queue.items).toMatchObject([{ metricName: 'queue_length', value: '7' }]);
}, 300_000);

test('the autoscaler scales up under load and down when the load falls', async () => {
  await apply(autoscaler);
  stage.load(60);
  await until('more replicas', replicas, { good: (n) => n >= 4, timeoutMs: 90_000 });
  stage.load(12);
  await until('fewer replicas', replicas, { good: (n) => n <= 3, timeoutMs: 120_000 });
}, 240_000);

test('while a node is down its pods are omitted, sums are refused and nothing is scaled down', async () => {
  stage.load(45);
  await until('load again', replicas, { good: (n) => n >= 4, timeoutMs: 90_000 });
  const before = await replicas();
  // Kills a node with a pod of the workload. If a node without such a pod died, no value would be missing.
  const placed = await stage.kubectl(
    ...['-n', 'shop', 'get', 'pods', '-l', 'app=catalog', '-o', 'jsonpath={.items[*].spec.nodeName}'],
  );
  const lost = stage.cluster.nodes.findLast(({ name }) => placed.split(' ').includes(name))!;
  await lost.kill();
  // If the lost pods counted as 0, three replicas would be enough. As they are omitted, four are needed, even if a busy
  // machine sends a quarter less.
  stage.load(36);
  const sum = `${api}/namespaces/shop/deployments.apps/catalog/catalog_rps_total`;
  // The lost node may have had a replica of the query server. Until the endpoint of that replica is removed, the
  // aggregator may answer with an error of its own, which names no node.
  const refusal = await until(
    'a refused sum',
    () =>
      stage.raw(sum).then(
        () => 'served',
        (error: Error) => error.message,
      ),
    { good: (text) => text.includes(lost.name) },
  );
  expect(refusal).toMatch(/incomplete/);
  const watched = Date.now() + 15_000;
  while (Date.now() < watched) {
    expect(await replicas()).toBeGreaterThanOrEqual(before);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  expect((await autoscalerState()).status?.desiredReplicas).toBeGreaterThanOrEqual(before);
  const gone = (await podsOn(lost.name)).filter((pod) => pod.startsWith('catalog-'));
  const rates = await until(
    'rates of the other pods',
    () => stage.raw<Values>(`${api}/namespaces/shop/pods/*/catalog_rps`),
    { good: ({ items }) => items.length > 0 },
  );
  const told = rates.items.map(({ describedObject }) => describedObject.name);
  expect([gone.length > 0, told.filter((pod) => gone.includes(pod))]).toEqual([true, []]);
  await lost.revive();
}, 180_000);
