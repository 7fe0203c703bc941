import { X509Certificate } from 'node:crypto';
import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { clusterTrafficPolicies } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import {
  names,
  objectLabels,
  platformDefaults,
  renderedKinds,
  renderPlatform,
  type RenderedKind,
} from '../../render/index.ts';
import { StatusError, type RequestMatch } from '../../testing/fake-api-server/index.ts';
import { policyObject, startPlatform, type PlatformHarness } from '../../testing/operator/platform-world.ts';
import { fromPolicies } from './reconciler.ts';

const { secrets } = coreResources;
const { namespace } = platformDefaults;

type AgentDaemonSet = KubeObject & {
  spec: { template: { spec: { hostPID: boolean; affinity: { nodeAffinity: Record<string, unknown> } } } };
};

test('creates a CA, the leaf certificates of the servers, and every rendered object', async () => {
  await using harness = await startPlatform();
  const ca = new X509Certificate(harness.pem(names.ca, 'ca.crt'));
  for (const [name, cn] of [
    [names.queryTls, 'svc-query'],
    [names.controllerTls, 'svc-controller'],
  ] as const) {
    const leaf = new X509Certificate(harness.pem(name, 'tls.crt'));
    expect(leaf.subject).toBe(`CN=${cn}`);
    expect(leaf.checkHost(`${cn}.svc-system.svc`)).toBeDefined();
    expect(leaf.verify(ca.publicKey)).toBe(true);
    expect(harness.secret(name)).toMatchObject({ type: 'kubernetes.io/tls' });
    expect(harness.pem(name, 'ca.crt')).toBe(harness.pem(names.ca, 'ca.crt'));
  }
  expect(new X509Certificate(harness.pem(names.queryTls, 'tls.crt')).checkIP('127.0.0.1')).toBe('127.0.0.1');
  const bundle = { caBundle: harness.pem(names.ca, 'ca.crt'), customMetrics: { register: false } };
  const rendered = renderPlatform({ ...platformDefaults, ...fromPolicies(platformDefaults, []), ...bundle });
  expect(rendered.length).toBeGreaterThan(20);
  for (const { kind, metadata } of rendered) {
    const resource = resourceRef(renderedKinds[kind as RenderedKind]);
    const live = harness.server.storage.find(resource, metadata.namespace, metadata.name!);
    expect([kind, live?.metadata.name]).toEqual([kind, metadata.name]);
  }
});

test('writes nothing in a cluster that matches the rendered objects', async () => {
  await using harness = await startPlatform();
  const writes = (): number => harness.server.requests.filter((r) => r.method !== 'GET').length;
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

test.each([
  [
    '1.29, which lacks the field and would refuse the DaemonSet, an annotation',
    29,
    { annotation: 'unconfined', field: undefined },
  ],
  ['1.30, the field', 30, { annotation: undefined, field: { type: 'Unconfined' } }],
])('the instrument runs without an AppArmor profile: on Kubernetes %s says so', async (_how, minor, wanted) => {
  await using harness = await startPlatform([], { minor });
  const { template } = harness.server.storage.get(coreResources.daemonSets, namespace, names.agent)['spec'] as {
    template: {
      metadata: { annotations: Record<string, string> };
      spec: { containers: { name: string; securityContext: { appArmorProfile?: object } }[] };
    };
  };
  const annotation = template.metadata.annotations['container.apparmor.security.beta.kubernetes.io/instrument'];
  const { securityContext } = template.spec.containers.find(({ name }) => name === 'instrument')!;
  expect({ annotation, field: securityContext.appArmorProfile }).toEqual(wanted);
  harness.server.storage.remove(coreResources.services, namespace, names.agent);
  await harness.passUntil(
    () => harness.server.storage.find(coreResources.services, namespace, names.agent),
    'another reconcile',
  );
  expect(harness.server.requests.filter(({ path }) => path === '/version')).toHaveLength(1);
});

test.each<[string, (harness: PlatformHarness) => void, (harness: PlatformHarness) => unknown]>([
  [
    'a query server that somebody scaled to 0',
    (harness) => {
      const d = harness.server.storage.get(coreResources.deployments, namespace, names.query);
      harness.server.put(
        coreResources.deployments,
        { ...d, spec: { ...(d['spec'] as object), replicas: 0 } },
        'kubectl',
      );
    },
    (harness) =>
      (harness.server.storage.get(coreResources.deployments, namespace, names.query)['spec'] as { replicas: number })
        .replicas === 2,
  ],
  [
    'a deleted Service',
    (harness) => void harness.server.storage.remove(coreResources.services, namespace, names.agent),
    (harness) => harness.server.storage.find(coreResources.services, namespace, names.agent),
  ],
  [
    'a deleted certificate',
    (harness) => void harness.server.storage.remove(secrets, namespace, names.queryTls),
    (harness) => harness.server.storage.find(secrets, namespace, names.queryTls),
  ],
])('repairs %s', async (_what, harm, repaired) => {
  await using harness = await startPlatform();
  harm(harness);
  await harness.passUntil(() => repaired(harness), 'the repair');
});

test('keeps the subjects that administrators added to the scrapers’ binding, and restores its own', async () => {
  await using harness = await startPlatform();
  const { clusterRoleBindings } = coreResources;
  const binding = harness.server.storage.get(clusterRoleBindings, undefined, names.metricsReader);
  const added = { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' };
  harness.server.put(clusterRoleBindings, { ...binding, subjects: [added] }, 'kubectl');
  const subjects = (): { name: string }[] =>
    harness.server.storage.get(clusterRoleBindings, undefined, names.metricsReader)['subjects'] as { name: string }[];
  await harness.passUntil(() => subjects().length === 2, 'both entries');
  expect(subjects().map((s) => s.name)).toEqual(['collector', 'prometheus']);
});

test('a binding that lost our label gets it back, and keeps the subjects that administrators added', async () => {
  await using harness = await startPlatform();
  const { clusterRoleBindings } = coreResources;
  const live = (): KubeObject => harness.server.storage.get(clusterRoleBindings, undefined, names.metricsReader);
  const subjects = [
    ...(live()['subjects'] as object[]),
    { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' },
  ];
  const { 'app.kubernetes.io/managed-by': managedBy, ...labels } = live().metadata.labels!;
  harness.server.put(clusterRoleBindings, { ...live(), metadata: { ...live().metadata, labels }, subjects }, 'kubectl');
  await harness.passUntil(() => live().metadata.labels?.['app.kubernetes.io/managed-by'] === managedBy, 'the label');
  expect(live()['subjects']).toEqual(subjects);
});

test('a binding that lost our label while no operator ran gets it back, and keeps the subjects that administrators added', async () => {
  await using first = await startPlatform();
  const { clusterRoleBindings } = coreResources;
  const binding = ({ server }: PlatformHarness): KubeObject =>
    server.storage.get(clusterRoleBindings, undefined, names.metricsReader);
  const before = binding(first);
  const added = { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' };
  const subjects = [...(before['subjects'] as object[]), added];
  const { annotations = {} } = before.metadata;
  const unlabelled = { ...before, metadata: { name: names.metricsReader, annotations }, subjects };
  await using again = await startPlatform([unlabelled]);
  expect(binding(again).metadata.labels).toEqual(objectLabels('agent'));
  expect(binding(again)['subjects']).toEqual(subjects);
});

test('a Deployment that lost our label gets it back, and keeps the replicas that an autoscaler set', async () => {
  await using harness = await startPlatform();
  const { deployments } = coreResources;
  const { storage } = harness.server;
  const live = (): KubeObject & { spec: { replicas: number } } =>
    storage.get(deployments, namespace, names.query) as never;
  const scaled = { ...live(), spec: { ...live().spec, replicas: 5 } };
  storage.update(deployments, scaled, { manager: 'kube-controller-manager', subresource: 'scale' });
  await harness.idle();
  const { 'app.kubernetes.io/managed-by': managedBy, ...labels } = live().metadata.labels!;
  storage.update(deployments, { ...live(), metadata: { ...live().metadata, labels } }, { manager: 'kubectl' });
  await harness.passUntil(() => live().metadata.labels?.['app.kubernetes.io/managed-by'] === managedBy, 'the label');
  expect(live().spec.replicas).toBe(5);
});

test('an object of others under a name of ours is taken over, and no change counts as undone', async () => {
  const { services } = coreResources;
  const theirs: KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: names.agent },
    spec: { selector: { app: 'other' } },
  };
  await using harness = await startPlatform([theirs]);
  expect(harness.server.storage.get(services, namespace, names.agent).metadata.labels).toMatchObject(
    objectLabels('agent'),
  );
  expect(harness.lines.filter(({ msg }) => /undid/.test(String(msg)))).toEqual([]);
});

test('keeps the nodes that administrators chose for the agents, and restores the rest', async () => {
  await using harness = await startPlatform();
  const { daemonSets } = coreResources;
  const live = (): AgentDaemonSet => harness.server.storage.get(daemonSets, namespace, names.agent) as AgentDaemonSet;
  const theirs = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['gpu'] }] }] };
  const edited = structuredClone(live());
  const { spec } = edited.spec.template;
  spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution = theirs;
  spec.hostPID = false;
  harness.server.put(daemonSets, edited, 'kubectl');
  await harness.passUntil(() => live().spec.template.spec.hostPID, 'the repair');
  await harness.idle();
  expect(live().spec.template.spec.affinity).toEqual(spec.affinity);
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
  await using harness = await startPlatform([service('old-agent', 'agent'), service('svc-controller', 'controller')]);
  await harness.passUntil(
    () => !harness.server.storage.find(coreResources.services, namespace, 'old-agent'),
    'the pruning',
  );
  expect(harness.server.storage.find(coreResources.services, namespace, 'svc-controller')).toBeDefined();
});

test('the certificate that agents of earlier versions share is kept until no pod mounts it any more', async () => {
  const shared = (): unknown => harness.server.storage.find(secrets, namespace, names.agentTls);
  const pod = (name: string): KubeObject =>
    ({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { namespace, name, labels: objectLabels('agent') },
      spec: { containers: [], volumes: [{ name: 'tls', secret: { secretName: names.agentTls } }] },
    }) as KubeObject;
  await using harness = await startPlatform([pod('svc-agent-a'), pod('svc-agent-b')]);
  expect(shared()).toBeDefined();
  const leaf = new X509Certificate(harness.pem(names.agentTls, 'tls.crt'));
  expect(leaf.checkHost('svc-agent.svc-system.svc')).toBeDefined();
  harness.server.storage.remove(coreResources.pods, namespace, 'svc-agent-a');
  await harness.idle();
  expect(shared()).toBeDefined();
  harness.server.storage.remove(coreResources.pods, namespace, 'svc-agent-b');
  await harness.passUntil(() => !shared(), 'the end of the shared certificate');
  for (const name of [names.ca, names.queryTls, names.controllerTls]) expect(harness.secret(name)).toBeDefined();
});

interface AgentSpec {
  template: { spec: { hostNetwork?: boolean } };
  updateStrategy: { rollingUpdate: { maxUnavailable: unknown } };
}
const agentSpec = (harness: PlatformHarness): AgentSpec =>
  harness.server.storage.get(coreResources.daemonSets, namespace, names.agent)['spec'] as AgentSpec;
const hostNetwork = (harness: PlatformHarness): boolean => agentSpec(harness).template.spec.hostNetwork === true;
const maxUnavailable = (harness: PlatformHarness): unknown =>
  agentSpec(harness).updateStrategy.rollingUpdate.maxUnavailable;

test('a policy that captures flows moves the agents to the host network', async () => {
  await using harness = await startPlatform();
  expect(hostNetwork(harness)).toBe(false);
  harness.server.put(clusterTrafficPolicies, policyObject('flows', { network: { enabled: true } }));
  await harness.passUntil(() => hostNetwork(harness), 'the host network');
});

test('a policy that is refused changes no agent', async () => {
  const refused = { namespaceSelector: {}, network: { enabled: true }, rollout: { maxUnavailable: 7 } };
  await using harness = await startPlatform([
    policyObject('refused', refused),
    policyObject('weak', { priority: -1, rollout: { maxUnavailable: 3 } }),
  ]);
  await harness.passUntil(() => maxUnavailable(harness) === 3, 'the strategy of the policy that is accepted');
  expect(hostNetwork(harness)).toBe(false);
});

test('the last accepted spec of a policy that is refused keeps the agents as they are', async () => {
  const lastAcceptedSpec = { network: { enabled: true }, rollout: { maxUnavailable: 5 } };
  const edited = policyObject('flows', { exclusions: [{}] }, { status: { lastAcceptedSpec } });
  await using harness = await startPlatform([edited]);
  await harness.passUntil(() => maxUnavailable(harness) === 5, 'the strategy of the last accepted spec');
  expect(hostNetwork(harness)).toBe(true);
});
test('the strongest policy with a maxUnavailable decides how many agents are replaced at a time', async () => {
  await using harness = await startPlatform();
  expect(maxUnavailable(harness)).toBe('10%');
  harness.server.put(clusterTrafficPolicies, policyObject('a-weak', { rollout: { maxUnavailable: 1 } }));
  harness.server.put(clusterTrafficPolicies, policyObject('b-strong', { priority: 5, rollout: { maxUnavailable: 4 } }));
  await harness.passUntil(() => maxUnavailable(harness) === 4, 'the strategy of the policy');
});

test('objects outside the namespace are owned by the installation, so they are deleted with it', async () => {
  const role: KubeObject = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: names.controller },
  };
  await using harness = await startPlatform([role]);
  const { uid } = harness.server.storage.get(coreResources.clusterRoles, undefined, names.controller).metadata;
  const owner = { apiVersion: role.apiVersion, kind: role.kind, name: names.controller, uid };
  const outside = [
    ...[renderedKinds.ClusterRole, renderedKinds.ClusterRoleBinding, renderedKinds.PriorityClass],
    ...[renderedKinds.RoleBinding],
  ]
    .flatMap((kind) => harness.server.storage.list(resourceRef(kind)))
    .filter(({ metadata }) => metadata.name !== names.controller && metadata.namespace !== namespace);
  expect(new Set(outside.map(({ kind }) => kind)).size).toBe(4);
  for (const { kind, metadata } of outside) {
    expect([kind, metadata.name, metadata.ownerReferences]).toEqual([kind, metadata.name, [owner]]);
  }
  const inside = harness.server.storage.get(coreResources.daemonSets, namespace, names.agent);
  expect(inside.metadata.ownerReferences).toBeUndefined();
});

test('while the installation is being removed, nothing outside the namespace is made again or taken away', async () => {
  const role: KubeObject = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: names.controller, finalizers: ['foregroundDeletion'] },
  };
  await using harness = await startPlatform([role]);
  const { clusterRoles, services } = coreResources;
  const { storage } = harness.server;
  storage.remove(clusterRoles, undefined, names.controller);
  storage.remove(clusterRoles, undefined, names.agent);
  storage.remove(services, namespace, names.agent);
  await harness.passUntil(() => storage.find(services, namespace, names.agent), 'what is inside');
  await harness.idle();
  expect(storage.find(clusterRoles, undefined, names.agent)).toBeUndefined();
  expect(storage.find(clusterRoles, undefined, names.query)).toBeDefined();
});

test('while the installation cannot be read, nothing outside the namespace changes, and what is inside is kept up', async () => {
  const role: KubeObject = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: names.controller },
  };
  await using harness = await startPlatform([role]);
  const { clusterRoles, services } = coreResources;
  const { storage } = harness.server;
  const owned = () => storage.get(clusterRoles, undefined, names.query).metadata;
  const before = owned();
  expect(before.ownerReferences).toHaveLength(1);
  let readable = false;
  const error = new StatusError(500, 'InternalError', 'etcdserver: request timed out');
  const reads: RequestMatch = ({ verb, plural, name }) =>
    !readable && verb === 'get' && plural === 'clusterroles' && name === names.controller;
  harness.server.script(reads, { do: 'fail', error }, Infinity);
  harness.server.put(clusterRoles, { ...role, metadata: { name: 'svc-old', labels: objectLabels('agent') } });
  storage.remove(clusterRoles, undefined, names.agent);
  storage.remove(services, namespace, names.agent);
  const failed = () => harness.lines.some((line) => /reconcile failed.*etcdserver/.test(JSON.stringify(line)));
  await harness.passUntil(failed, 'the error');
  expect(storage.find(services, namespace, names.agent)).toBeDefined();
  expect(storage.find(clusterRoles, undefined, names.agent)).toBeUndefined();
  expect(storage.find(clusterRoles, undefined, 'svc-old')).toBeDefined();
  expect(owned()).toEqual(before);
  readable = true;
  await harness.passUntil(() => storage.find(clusterRoles, undefined, names.agent), 'what is outside');
  expect(storage.get(clusterRoles, undefined, names.agent).metadata.ownerReferences).toEqual(before.ownerReferences);
  await harness.passUntil(() => !storage.find(clusterRoles, undefined, 'svc-old'), 'the end of what is left over');
});
