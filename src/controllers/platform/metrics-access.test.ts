import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderedKinds } from '../../render/index.ts';
import { StatusError } from '../../testing/fake-api-server/index.ts';
import { startPlatform, type PlatformHarness } from '../../testing/operator/platform-world.ts';

const name = names.customMetricsAccess;
const kinds = [renderedKinds.ClusterRole, renderedKinds.ClusterRoleBinding].map(resourceRef);
const [role, binding] = kinds as [(typeof kinds)[0], (typeof kinds)[0]];
const rules = [{ apiGroups: ['custom.metrics.k8s.io', 'external.metrics.k8s.io'], resources: ['*'], verbs: ['get'] }];
const adapters: KubeObject[] = [
  { apiVersion: role.apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
  {
    ...{ apiVersion: binding.apiVersion, kind: 'ClusterRoleBinding', metadata: { name } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace: 'monitoring', name: 'adapter' }],
  },
];

const found = ({ server }: PlatformHarness, kind = role) => server.storage.find(kind, undefined, name);
const registered = async (harness: PlatformHarness): Promise<void> => {
  const conditions = [{ type: 'Available', status: 'True' }];
  harness.server.putStatus(coreResources.deployments, platformDefaults.namespace, names.query, { conditions });
  const { storage } = harness.server;
  await harness.passUntil(
    () => storage.find(coreResources.apiServices, undefined, 'v1beta2.custom.metrics.k8s.io'),
    'the registration',
  );
  await harness.idle();
};

test('the role and the binding of another adapter stay as they are while our API is registered', async () => {
  await using harness = await startPlatform(adapters, { customMetrics: 'auto' });
  const before = kinds.map((kind) => found(harness, kind));
  await registered(harness);
  expect(kinds.map((kind) => found(harness, kind))).toEqual(before);
  expect(found(harness)).toMatchObject({ rules });
});

test('a binding of another adapter stays as it is beside our role, and its role gets no binding of ours', async () => {
  for (const [i, kind] of kinds.entries()) {
    await using harness = await startPlatform([adapters[i]!], { customMetrics: 'auto' });
    const before = found(harness, kind);
    await registered(harness);
    expect(found(harness, kind)).toEqual(before);
    expect([found(harness), found(harness, binding)].map((one) => one !== undefined)).toEqual([true, i === 1]);
  }
});

test('our role and binding get lost labels back', async () => {
  await using harness = await startPlatform([], { customMetrics: 'auto' });
  await registered(harness);
  for (const kind of kinds) {
    const { labels, ...metadata } = found(harness, kind)!.metadata;
    expect(labels).toBeDefined();
    harness.server.storage.update(kind, { ...found(harness, kind)!, metadata }, { manager: 'kubectl' });
    expect(found(harness, kind)!.metadata.labels).toBeUndefined();
    await harness.passUntil(() => found(harness, kind)?.metadata.labels, 'the labels');
  }
});

const installation = {
  ...{ apiVersion: role.apiVersion, kind: 'ClusterRole' },
  ...{ metadata: { name: names.controller }, rules: [] },
} as KubeObject;

/** Our role after an adapter's release wrote it too. The release's own labels stay beside ours. */
const overwritten = (harness: PlatformHarness, more: object): void => {
  const shared = found(harness)!;
  expect(shared.metadata.ownerReferences).toMatchObject([{ name: names.controller }]);
  const annotations = { release: 'adapter' };
  const labels = { ...shared.metadata.labels, release: 'adapter' };
  harness.server.put(role, { ...shared, ...more, metadata: { ...shared.metadata, labels, annotations } }, 'helm');
};
const expectGivenUp = (harness: PlatformHarness): void => {
  const { metadata } = found(harness)!;
  expect(metadata).toMatchObject({ labels: { release: 'adapter' }, annotations: { release: 'adapter' } });
  expect(Object.keys(metadata.labels!)).toEqual(['release']);
  expect(metadata.ownerReferences ?? []).toEqual([]);
  expect(metadata.managedFields?.map(({ manager }) => manager)).toEqual(['helm']);
};

test('our role that another adapter wrote too is given up: our installation no longer owns it, and its rules stay', async () => {
  await using harness = await startPlatform([installation], { customMetrics: 'auto' });
  await registered(harness);
  overwritten(harness, { rules });
  await harness.passUntil(() => !found(harness)?.metadata.ownerReferences?.length, 'the end of the ownership');
  await harness.idle();
  expectGivenUp(harness);
  expect(found(harness)).toMatchObject({ rules });
  const writes = (): number => harness.server.requests.filter((r) => r.method !== 'GET' && r.name === name).length;
  const before = writes();
  harness.server.put(role, { ...found(harness)!, rules: [...rules, ...rules] }, 'helm');
  await harness.clock.advance(60_000);
  await harness.idle();
  expect(writes()).toBe(before);
});

test('a refused release of such a role is tried again, and the other objects are applied meanwhile', async () => {
  await using harness = await startPlatform([installation], { customMetrics: 'auto' });
  await registered(harness);
  const error = new StatusError(403, 'Forbidden', 'not now');
  let refusing = true;
  harness.server.script((r) => refusing && r.verb === 'patch' && r.name === name, { do: 'fail', error }, 1_000);
  overwritten(harness, {});
  const { services } = coreResources;
  harness.server.storage.remove(services, platformDefaults.namespace, names.query);
  await harness.passUntil(() => harness.server.storage.find(services, platformDefaults.namespace, names.query), 'it');
  expect(found(harness)!.metadata.ownerReferences).toHaveLength(1);
  refusing = false;
  await harness.passUntil(() => !found(harness)?.metadata.ownerReferences?.length, 'the end of the ownership');
  await harness.idle();
  expectGivenUp(harness);
});

test('of a role and a binding that are ours, only those that nobody else wrote go with the registration', async () => {
  await using harness = await startPlatform([installation], { customMetrics: 'auto' });
  await registered(harness);
  overwritten(harness, {});
  harness.server.put(coreResources.apiServices, {
    ...{ apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' },
    metadata: { name: 'v1beta1.custom.metrics.k8s.io' },
    spec: { service: { name: 'adapter', namespace: 'monitoring' } },
  });
  await harness.passUntil(() => !found(harness, binding), 'the end of the binding');
  await harness.idle();
  expectGivenUp(harness);
});
