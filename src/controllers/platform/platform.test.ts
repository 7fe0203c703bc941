import { X509Certificate } from 'node:crypto';
import { clusterTrafficPolicies } from '../../api/v1alpha1/index.ts';
import { createLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderedKinds } from '../../render/index.ts';
import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { planLeaves, type SecretObject } from './certificates.ts';
import { setupPlatform } from './reconciler.ts';

const { secrets } = coreResources;
const priorityClasses = resourceRef(renderedKinds.PriorityClass);
const day = 86_400_000;
const namespace = 'svc-system';

let harness: ControllerHarness;
const lines: Record<string, unknown>[] = [];
async function begin(objects: [typeof secrets, KubeObject][] = []): Promise<void> {
  lines.length = 0;
  harness = await runController(
    (env) => setupPlatform(env, platformDefaults),
    objects.map(([, object]) => object),
    noFaults,
    {
      server: { resources: [clusterTrafficPolicies, priorityClasses] },
      logger: createLogger({ write: (line) => void lines.push(JSON.parse(line) as never) }),
    },
  );
  await harness.passUntil(
    () => harness.server.storage.find(coreResources.deployments, namespace, names.query),
    'the last child',
  );
  await harness.idle();
}
afterEach(() => harness.stop());

const secret = (name: string): SecretObject => harness.server.storage.get(secrets, namespace, name) as SecretObject;
const pem = (name: string, key: string): string => Buffer.from(secret(name).data?.[key] ?? '', 'base64').toString();
const writes = (): number => harness.server.requests.filter((r) => r.method !== 'GET').length;

test('makes a CA and three leaves that fit it, and everything that is rendered', async () => {
  await begin();
  const ca = new X509Certificate(pem(names.ca, 'ca.crt'));
  for (const [name, cn] of [
    [names.agentTls, 'svc-agent'],
    [names.queryTls, 'svc-query'],
    [names.controllerTls, 'svc-controller'],
  ] as const) {
    const leaf = new X509Certificate(pem(name, 'tls.crt'));
    expect(leaf.subject).toBe(`CN=${cn}`);
    expect(leaf.checkHost(`${cn}.svc-system.svc`)).toBeDefined();
    expect(leaf.verify(ca.publicKey)).toBe(true);
    expect(secret(name)).toMatchObject({ type: 'kubernetes.io/tls' });
    expect(pem(name, 'ca.crt')).toBe(pem(names.ca, 'ca.crt'));
  }
  expect(new X509Certificate(pem(names.queryTls, 'tls.crt')).checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(harness.server.storage.find(coreResources.daemonSets, namespace, names.agent)).toBeDefined();
  expect(harness.server.storage.find(coreResources.clusterRoles, undefined, names.promqlReader)).toBeDefined();
});

test('writes nothing on a world that is as it should be', async () => {
  await begin();
  const before = writes();
  const reads = harness.server.seen({ verb: 'get', name: names.ca }).length;
  harness.server.putStatus(coreResources.daemonSets, namespace, names.agent, { numberReady: 3 });
  const account = harness.server.storage.get(coreResources.serviceAccounts, namespace, names.agent);
  const labels = { ...account.metadata.labels, touched: 'by-somebody' };
  harness.server.put(
    coreResources.serviceAccounts,
    { ...account, metadata: { ...account.metadata, labels } },
    'kubectl',
  );
  await harness.passUntil(
    () => harness.server.seen({ verb: 'get', name: names.ca }).length > reads,
    'another reconcile',
  );
  await harness.idle();
  expect(writes()).toBe(before);
});

test.each<[string, () => void, () => unknown]>([
  [
    'a scaled query server',
    () => {
      const d = harness.server.storage.get(coreResources.deployments, namespace, names.query);
      harness.server.put(
        coreResources.deployments,
        { ...d, spec: { ...(d['spec'] as object), replicas: 0 } },
        'kubectl',
      );
    },
    () =>
      (harness.server.storage.get(coreResources.deployments, namespace, names.query)['spec'] as { replicas: number })
        .replicas === 2,
  ],
  [
    'a deleted Service',
    () => void harness.server.storage.remove(coreResources.services, namespace, names.agent),
    () => harness.server.storage.find(coreResources.services, namespace, names.agent),
  ],
  [
    'a deleted certificate',
    () => void harness.server.storage.remove(secrets, namespace, names.agentTls),
    () => harness.server.storage.find(secrets, namespace, names.agentTls),
  ],
])('repairs %s', async (_what, harm, repaired) => {
  await begin();
  harm();
  await harness.passUntil(repaired, 'the repair');
});

test('keeps what administrators added to the scrapers, and our own entry', async () => {
  await begin();
  const { clusterRoleBindings } = coreResources;
  const binding = harness.server.storage.get(clusterRoleBindings, undefined, names.metricsReader);
  const added = { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' };
  harness.server.put(clusterRoleBindings, { ...binding, subjects: [added] }, 'kubectl');
  const subjects = (): { name: string }[] =>
    harness.server.storage.get(clusterRoleBindings, undefined, names.metricsReader)['subjects'] as { name: string }[];
  await harness.passUntil(() => subjects().length === 2, 'both entries');
  expect(subjects().map((s) => s.name)).toEqual(['collector', 'prometheus']);
});

test('removes what an earlier version rendered, and leaves the operator’s own installation alone', async () => {
  const labels = (component: string) => ({
    'app.kubernetes.io/name': 'svc-operator',
    'app.kubernetes.io/managed-by': 'svc-controller',
    'app.kubernetes.io/component': component,
  });
  const service = (name: string, component: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: labels(component) },
  });
  await begin([
    [coreResources.services, service('old-agent', 'agent')],
    [coreResources.services, service('svc-controller', 'controller')],
  ]);
  await harness.passUntil(
    () => !harness.server.storage.find(coreResources.services, namespace, 'old-agent'),
    'the pruning',
  );
  expect(harness.server.storage.find(coreResources.services, namespace, 'svc-controller')).toBeDefined();
});

test('renews a leaf at two thirds of its life, with the same CA, and says when the next is due', async () => {
  await begin();
  const ca = { cert: pem(names.ca, 'ca.crt'), key: pem(names.ca, 'ca.key') };
  const live = new Map([names.agentTls, names.queryTls, names.controllerTls].map((name) => [name, secret(name)]));
  const start = harness.clock.now();
  const young = await planLeaves(namespace, ca, live, start + 59 * day);
  expect(young.issued).toEqual({});
  expect(young.secrets.map((s) => s.data)).toEqual([...live.values()].map((s) => s.data));
  expect((young.renewAt - start) / day).toBeCloseTo(60, 0);
  const due = await planLeaves(namespace, ca, live, start + 61 * day);
  expect(new Set(Object.values(due.issued))).toEqual(new Set(['due for renewal']));
  expect(due.secrets.every((s) => s.data!['ca.crt'] === live.get(names.agentTls)!.data!['ca.crt'])).toBe(true);
});

test('a CA bundle that grew reaches the leaves without new keys', async () => {
  await begin();
  const ca = { cert: pem(names.ca, 'ca.crt'), key: pem(names.ca, 'ca.key') };
  const live = new Map([[names.agentTls, secret(names.agentTls)]]);
  const plan = await planLeaves(namespace, { ...ca, cert: `${ca.cert}${ca.cert}` }, live, harness.clock.now());
  expect(plan.issued[names.agentTls]).toBe('CA bundle changed');
  expect(plan.secrets[0]!.data!['tls.key']).toBe(live.get(names.agentTls)!.data!['tls.key']);
});

test('an existing CA is kept, also when the cache has not shown it yet', async () => {
  await begin();
  const ca = pem(names.ca, 'ca.crt');
  const stored = secret(names.ca);
  const { resourceVersion: _rv, uid: _uid, ...metadata } = stored.metadata;
  await harness.stop();
  await begin([[secrets, { ...stored, metadata }]]);
  expect(pem(names.ca, 'ca.crt')).toBe(ca);
});

test('a policy that captures flows moves the agents to the host network', async () => {
  await begin();
  const hostNetwork = (): unknown =>
    (
      harness.server.storage.get(coreResources.daemonSets, namespace, names.agent)['spec'] as {
        template: { spec: { hostNetwork?: boolean } };
      }
    ).template.spec.hostNetwork;
  expect(hostNetwork()).not.toBe(true);
  harness.server.put(clusterTrafficPolicies, {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name: 'flows' },
    spec: { network: { enabled: true } },
  });
  await harness.passUntil(() => hostNetwork() === true, 'the host network');
});
