import { createPrivateKey, X509Certificate } from 'node:crypto';
import { clusterTrafficPolicies } from '../../api/v1alpha1/index.ts';
import { createCa } from '../../net/ca.ts';
import { createLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import {
  names,
  objectLabels,
  platformDefaults,
  renderedKinds,
  renderPlatform,
  type RenderedKind,
} from '../../render/index.ts';
import { resourceRef, type KubeObject, type ResourceRef } from '../../api/meta.ts';
import { aPolicy } from '../../testing/capture/world.ts';
import { StatusError } from '../../testing/fake-api-server/index.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { certificateStates, planLeaves, type SecretObject } from './certificates.ts';
import { fromPolicies, certificateCondition, setupPlatform, type PlatformOptions } from './reconciler.ts';
import { PlatformTrouble } from './trouble.ts';

const { secrets } = coreResources;
const priorityClasses = resourceRef(renderedKinds.PriorityClass);
const day = 86_400_000;
const namespace = 'svc-system';

type AgentDaemonSet = KubeObject & {
  spec: { template: { spec: { hostPID: boolean; affinity: { nodeAffinity: Record<string, unknown> } } } };
};

let harness: ControllerHarness;
const lines: Record<string, unknown>[] = [];
async function begin(
  objects: [ResourceRef, KubeObject][] = [],
  options: PlatformOptions = {},
  served: readonly ResourceRef[] = [],
  minor?: number,
): Promise<void> {
  lines.length = 0;
  harness = await runController(
    (env) => setupPlatform(env, platformDefaults, options),
    objects.map(([, object]) => object),
    noFaults,
    {
      server: {
        resources: [clusterTrafficPolicies, priorityClasses, ...served],
        ...(minor === undefined ? {} : { minor }),
      },
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

test('creates a CA, the leaf certificates of the servers, and every rendered object', async () => {
  await begin();
  const ca = new X509Certificate(pem(names.ca, 'ca.crt'));
  for (const [name, cn] of [
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
  const bundle = { caBundle: pem(names.ca, 'ca.crt'), customMetrics: { register: false } };
  const rendered = renderPlatform({ ...platformDefaults, ...fromPolicies(platformDefaults, []), ...bundle });
  expect(rendered.length).toBeGreaterThan(20);
  for (const { kind, metadata } of rendered) {
    const resource = resourceRef(renderedKinds[kind as RenderedKind]);
    const live = harness.server.storage.find(resource, metadata.namespace, metadata.name!);
    expect([kind, live?.metadata.name]).toEqual([kind, metadata.name]);
  }
});

test('writes nothing in a cluster that matches the rendered objects', async () => {
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

test.each([
  [
    '1.29, which lacks the field and would refuse the DaemonSet, an annotation',
    29,
    { annotation: 'unconfined', field: undefined },
  ],
  ['1.30, the field', 30, { annotation: undefined, field: { type: 'Unconfined' } }],
])('the instrument runs without an AppArmor profile: on Kubernetes %s says so', async (_how, minor, wanted) => {
  await begin([], {}, [], minor);
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

test.each<[string, () => void, () => unknown]>([
  [
    'a query server that somebody scaled to 0',
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
    () => void harness.server.storage.remove(secrets, namespace, names.queryTls),
    () => harness.server.storage.find(secrets, namespace, names.queryTls),
  ],
])('repairs %s', async (_what, harm, repaired) => {
  await begin();
  harm();
  await harness.passUntil(repaired, 'the repair');
});

test('keeps the subjects that administrators added to the scrapers’ binding, and restores its own', async () => {
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

test('a binding that lost our label gets it back, and keeps the subjects that administrators added', async () => {
  await begin();
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
  await begin();
  const { clusterRoleBindings } = coreResources;
  const live = (): KubeObject => harness.server.storage.get(clusterRoleBindings, undefined, names.metricsReader);
  const added = { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' };
  const subjects = [...(live()['subjects'] as object[]), added];
  const { annotations = {} } = live().metadata;
  const unlabelled = { ...live(), metadata: { name: names.metricsReader, annotations }, subjects };
  await harness.stop();
  await begin([[clusterRoleBindings, unlabelled]]);
  expect(live().metadata.labels).toEqual(objectLabels('agent'));
  expect(live()['subjects']).toEqual(subjects);
});

test('a Deployment that lost our label gets it back, and keeps the replicas that an autoscaler set', async () => {
  await begin();
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
  await begin([
    [
      services,
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace, name: names.agent },
        spec: { selector: { app: 'other' } },
      } as KubeObject,
    ],
  ]);
  expect(harness.server.storage.get(services, namespace, names.agent).metadata.labels).toMatchObject(
    objectLabels('agent'),
  );
  expect(lines.filter(({ msg }) => /undid/.test(String(msg)))).toEqual([]);
});

test('keeps the nodes that administrators chose for the agents, and restores the rest', async () => {
  await begin();
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

test('the certificate that agents of earlier versions share is kept until no pod mounts it any more', async () => {
  const shared = (): unknown => harness.server.storage.find(secrets, namespace, names.agentTls);
  const pod = (name: string): KubeObject =>
    ({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { namespace, name, labels: objectLabels('agent') },
      spec: { containers: [], volumes: [{ name: 'tls', secret: { secretName: names.agentTls } }] },
    }) as KubeObject;
  await begin([
    [coreResources.pods, pod('svc-agent-a')],
    [coreResources.pods, pod('svc-agent-b')],
  ]);
  expect(shared()).toBeDefined();
  const leaf = new X509Certificate(pem(names.agentTls, 'tls.crt'));
  expect(leaf.checkHost('svc-agent.svc-system.svc')).toBeDefined();
  harness.server.storage.remove(coreResources.pods, namespace, 'svc-agent-a');
  await harness.idle();
  expect(shared()).toBeDefined();
  harness.server.storage.remove(coreResources.pods, namespace, 'svc-agent-b');
  await harness.passUntil(() => !shared(), 'the end of the shared certificate');
  for (const name of [names.ca, names.queryTls, names.controllerTls]) expect(secret(name)).toBeDefined();
});

test('renews a leaf at two thirds of its life, with the same CA, and says when the next renewal is due', async () => {
  await begin();
  const ca = { signer: { cert: pem(names.ca, 'ca.crt'), key: pem(names.ca, 'ca.key') } };
  const live = new Map([names.queryTls, names.controllerTls].map((name) => [name, secret(name)]));
  const start = harness.clock.now();
  const young = await planLeaves(namespace, ca, live, { now: start + 59 * day });
  expect(young.issued).toEqual({});
  expect(young.secrets.map((s) => s.data)).toEqual([...live.values()].map((s) => s.data));
  expect((young.renewAt - start) / day).toBeCloseTo(60, 0);
  const due = await planLeaves(namespace, ca, live, { now: start + 61 * day });
  expect(new Set(Object.values(due.issued))).toEqual(new Set(['due for renewal']));
  const bundle = live.get(names.queryTls)!.data!['ca.crt'];
  expect(due.secrets.map((s) => s.data!['ca.crt'])).toEqual([bundle, bundle]);
});

test('a CA bundle that grew reaches the leaves without new keys', async () => {
  await begin();
  const signer = { cert: pem(names.ca, 'ca.crt'), key: pem(names.ca, 'ca.key') };
  const live = new Map([[names.queryTls, secret(names.queryTls)]]);
  const now = harness.clock.now();
  const next = { pair: await createCa({ commonName: names.ca, now }), since: now };
  const plan = await planLeaves(namespace, { signer, next }, live, { now });
  expect([plan.issued[names.queryTls], plan.rebundled]).toEqual([undefined, [names.queryTls]]);
  expect(plan.secrets[0]!.data!['tls.key']).toBe(live.get(names.queryTls)!.data!['tls.key']);
});

test('an existing CA is kept, even if the cache does not hold it', async () => {
  await begin();
  const ca = pem(names.ca, 'ca.crt');
  const stored = secret(names.ca);
  const { resourceVersion: _rv, uid: _uid, ...metadata } = stored.metadata;
  await harness.stop();
  await begin([[secrets, { ...stored, metadata }]]);
  expect(pem(names.ca, 'ca.crt')).toBe(ca);
  await harness.stop();
  // The cache selects by labels, so it does not hold this Secret.
  await begin([[secrets, { ...stored, metadata: { ...metadata, labels: { team: 'net' } } }]]);
  expect(pem(names.ca, 'ca.crt')).toBe(ca);
  // All who read the cache get it back, and what others added stays.
  expect(secret(names.ca).metadata.labels).toEqual({ ...metadata.labels, team: 'net' });
});

const policyObject = (...of: Parameters<typeof aPolicy>): KubeObject => aPolicy(...of) as unknown as KubeObject;
interface AgentSpec {
  template: { spec: { hostNetwork?: boolean } };
  updateStrategy: { rollingUpdate: { maxUnavailable: unknown } };
}
const agentSpec = (): AgentSpec =>
  harness.server.storage.get(coreResources.daemonSets, namespace, names.agent)['spec'] as AgentSpec;
const hostNetwork = (): boolean => agentSpec().template.spec.hostNetwork === true;
const maxUnavailable = (): unknown => agentSpec().updateStrategy.rollingUpdate.maxUnavailable;

test('a policy that captures flows moves the agents to the host network', async () => {
  await begin();
  expect(hostNetwork()).toBe(false);
  harness.server.put(clusterTrafficPolicies, policyObject('flows', { network: { enabled: true } }));
  await harness.passUntil(hostNetwork, 'the host network');
});

test('a policy that is refused changes no agent', async () => {
  const refused = { namespaceSelector: {}, network: { enabled: true }, rollout: { maxUnavailable: 7 } };
  await begin([
    [clusterTrafficPolicies, policyObject('refused', refused)],
    [clusterTrafficPolicies, policyObject('weak', { priority: -1, rollout: { maxUnavailable: 3 } })],
  ]);
  await harness.passUntil(() => maxUnavailable() === 3, 'the strategy of the policy that is accepted');
  expect(hostNetwork()).toBe(false);
});

test('the last accepted spec of a policy that is refused keeps the agents as they are', async () => {
  const lastAcceptedSpec = { network: { enabled: true }, rollout: { maxUnavailable: 5 } };
  const edited = policyObject('flows', { exclusions: [{}] }, { status: { lastAcceptedSpec } });
  await begin([[clusterTrafficPolicies, edited]]);
  await harness.passUntil(() => maxUnavailable() === 5, 'the strategy of the last accepted spec');
  expect(hostNetwork()).toBe(true);
});
interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  observedGeneration: number;
}
const conditionOf = (policy: string, type: string): Condition | undefined =>
  (
    harness.server.storage.find(clusterTrafficPolicies, undefined, policy)?.['status'] as
      { conditions?: Condition[] } | undefined
  )?.conditions?.find((c) => c.type === type);

test('the strongest policy with a maxUnavailable decides how many agents are replaced at a time', async () => {
  await begin();
  expect(maxUnavailable()).toBe('10%');
  harness.server.put(clusterTrafficPolicies, policyObject('a-weak', { rollout: { maxUnavailable: 1 } }));
  harness.server.put(clusterTrafficPolicies, policyObject('b-strong', { priority: 5, rollout: { maxUnavailable: 4 } }));
  await harness.passUntil(() => maxUnavailable() === 4, 'the strategy of the policy');
});

describe('the condition CertificateExpiring of policies', () => {
  test('is False on each policy, for its generation, while certificates are renewed in time', async () => {
    const edited = policyObject('edited', {}, { generation: 7 });
    await begin([
      [clusterTrafficPolicies, policyObject('default', {})],
      [clusterTrafficPolicies, edited],
    ]);
    for (const name of ['default', 'edited']) {
      await harness.passUntil(() => conditionOf(name, 'CertificateExpiring'), `the condition of ${name}`);
      const { generation } = harness.server.storage.get(clusterTrafficPolicies, undefined, name).metadata;
      expect(conditionOf(name, 'CertificateExpiring')).toMatchObject({
        ...{ status: 'False', reason: 'CertificatesValid', observedGeneration: generation },
      });
    }
  });

  test('reports an overdue renewal before the certificate expires; a metric shows each expiry time', async () => {
    await begin([[clusterTrafficPolicies, policyObject('default', {})]]);
    const states = certificateStates(
      new Map([[names.queryTls, secret(names.queryTls)]]),
      harness.clock.now() + 70 * day,
    );
    expect(states).toMatchObject([{ secret: names.queryTls, overdue: true }]);
    expect(certificateCondition(states)).toMatchObject({ status: 'True', reason: 'RenewalOverdue' });
    expect(certificateCondition(states).message).toContain('svc-query-tls ends ');
    expect(certificateCondition(states, 'node-1: away')).toMatchObject({ reason: 'RenewalOverdue' });
    expect(certificateCondition([], 'node-1: away')).toEqual({
      ...{ type: 'CertificateExpiring', status: 'True', reason: 'AgentsWaiting' },
      message: 'agents got no certificate: node-1: away',
    });
    const text = await harness.manager.metricsText();
    for (const name of [names.ca, names.queryTls, names.controllerTls])
      expect(text).toMatch(new RegExp(`svc_controller_cert_expiry_timestamp_seconds\\{secret="${name}"\\} \\d`));
  });
});

describe('the certificate authority', () => {
  const bundleOf = (name: string): number => pem(name, 'ca.crt').split('BEGIN CERTIFICATE').length - 1;

  test('is replaced in steps on request, and every leaf follows', async () => {
    await begin([], { caTiming: { days: 3650, distributionMs: 60_000, retirementMs: 120_000 } });
    const old = pem(names.ca, 'ca.crt');
    const { metadata, ...rest } = secret(names.ca);
    const asked = { ...rest, metadata: { ...metadata, annotations: { 'svc.dev/rotate-ca': 'key seen in a log' } } };
    harness.server.put(secrets, asked, 'kubectl');
    await harness.passUntil(() => bundleOf(names.queryTls) === 2, 'the new authority in every bundle');
    expect(pem(names.ca, 'ca.crt')).toBe(old);
    const leaves = [names.queryTls, names.controllerTls];
    const before = leaves.map((name) => pem(name, 'tls.crt'));
    await harness.clock.advance(60_000);
    await harness.passUntil(() => pem(names.ca, 'ca.crt') !== old, 'the change of the signer');
    await harness.passUntil(
      () => leaves.every((name, i) => pem(name, 'tls.crt') !== before[i]),
      'leaves of the new authority',
    );
    const { publicKey } = new X509Certificate(pem(names.ca, 'ca.crt'));
    for (const name of leaves) {
      expect(new X509Certificate(pem(name, 'tls.crt')).verify(publicKey)).toBe(true);
      expect(pem(name, 'ca.crt')).toContain(old);
    }
    await harness.clock.advance(120_000);
    await harness.passUntil(() => leaves.every((name) => bundleOf(name) === 1), 'the end of the old authority');
    expect(secret(names.ca).metadata.annotations).toMatchObject({ 'svc.dev/rotate-ca-done': 'key seen in a log' });
    expect(Object.keys(secret(names.ca).data ?? {}).sort()).toEqual(['bundle.crt', 'ca.crt', 'ca.key']);
  });

  test('does not sign with the key of another: nothing is written, and its status says so until the pair is restored', async () => {
    const trouble = new PlatformTrouble();
    await begin([], { trouble });
    const good = secret(names.ca);
    const held = [names.queryTls, names.controllerTls, names.ca];
    for (const key of ['ca.key', 'ca.crt'] as const) {
      const other = await createCa({ commonName: names.ca, now: harness.clock.now() });
      const text = key === 'ca.key' ? other.key : other.cert;
      const edited = { ...secret(names.ca), data: { ...good.data, [key]: Buffer.from(text).toString('base64') } };
      harness.server.put(secrets, edited, 'kubectl');
      const versions = held.map((name) => secret(name).metadata.resourceVersion);
      await harness.passUntil(() => trouble.current, 'the trouble');
      expect(trouble.current?.message).toContain('ca.key is not the key of ca.crt in Secret svc-ca');
      await harness.clock.advance(60_000);
      await harness.idle();
      expect(held.map((name) => secret(name).metadata.resourceVersion)).toEqual(versions);
      harness.server.put(secrets, { ...secret(names.ca), data: good.data! }, 'kubectl');
      await harness.passUntil(() => !trouble.current, 'the end of the trouble');
    }
  });

  test('replaces a leaf whose key is another one', async () => {
    await begin();
    const [query, controller] = [secret(names.queryTls), secret(names.controllerTls)];
    const data = { ...query.data, 'tls.key': controller.data!['tls.key']! };
    harness.server.put(secrets, { ...query, data }, 'kubectl');
    await harness.passUntil(() => pem(names.queryTls, 'tls.key') !== pem(names.controllerTls, 'tls.key'), 'a new key');
    const leaf = new X509Certificate(pem(names.queryTls, 'tls.crt'));
    expect(leaf.checkPrivateKey(createPrivateKey(pem(names.queryTls, 'tls.key')))).toBe(true);
    expect(leaf.checkHost('svc-query.svc-system.svc')).toBeDefined();
  });

  test('is published without its key, for clients', async () => {
    await begin();
    const published = harness.server.storage.get(coreResources.configMaps, namespace, names.caBundle) as unknown as {
      data: Record<string, string>;
    };
    expect(published.data).toEqual({ 'ca.crt': pem(names.ca, 'ca.crt') });
  });
});

describe('custom metrics', () => {
  const apiService = (version: string, service: object): KubeObject => ({
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `${version}.custom.metrics.k8s.io` },
    spec: { group: 'custom.metrics.k8s.io', version, service },
  });
  const { apiServices } = coreResources;
  const stored = (version: string) =>
    harness.server.storage.find(apiServices, undefined, `${version}.custom.metrics.k8s.io`)?.['spec'] as
      { caBundle?: string; service: { name: string } } | undefined;

  const queryAnswers = (answers: boolean): void => {
    const conditions = [{ type: 'Available', status: answers ? 'True' : 'False' }];
    harness.server.putStatus(coreResources.deployments, namespace, names.query, { conditions });
  };

  test('are registered with our CA bundle once the query server answers, and stay so when it stops', async () => {
    await begin([[clusterTrafficPolicies, policyObject('default', {})]], { customMetrics: 'auto' });
    await harness.passUntil(() => conditionOf('default', 'CustomMetricsAvailable'), 'the condition');
    expect(conditionOf('default', 'CustomMetricsAvailable')).toMatchObject({ status: 'False', reason: 'Unavailable' });
    expect(stored('v1beta1')).toBeUndefined();
    queryAnswers(true);
    await harness.passUntil(() => stored('v1beta2'), 'the registration');
    expect(Buffer.from(stored('v1beta1')!.caBundle!, 'base64').toString()).toBe(pem(names.ca, 'ca.crt'));
    queryAnswers(false);
    await harness.idle();
    expect(stored('v1beta1')).toBeDefined();
  });

  test('are not registered while the query server may not read the CAs of its callers, even if its pods are ready', async () => {
    await begin([[clusterTrafficPolicies, policyObject('default', {})]], { customMetrics: 'auto' });
    const { storage } = harness.server;
    const apply = storage.apply.bind(storage);
    storage.apply = (resource, wanted, meta) => {
      if (wanted.metadata.name !== names.authReader) return apply(resource, wanted, meta);
      throw new StatusError(403, 'Forbidden', 'kube-system is managed');
    };
    storage.remove(resourceRef(renderedKinds.RoleBinding), 'kube-system', names.authReader);
    queryAnswers(true);
    await harness.passUntil(
      () => conditionOf('default', 'CustomMetricsAvailable')?.message.includes(names.authReader),
      'the condition',
    );
    expect(stored('v1beta2')).toBeUndefined();
    storage.apply = apply;
    await harness.passUntil(() => stored('v1beta2'), 'the registration');
  });

  test("are left to another server until that server's registration is removed, and a condition says so", async () => {
    const foreign = apiService('v1beta1', { name: 'prometheus-adapter', namespace: 'monitoring' });
    await begin(
      [
        [apiServices, foreign],
        [clusterTrafficPolicies, policyObject('default', {})],
      ],
      { customMetrics: 'auto' },
    );
    await harness.passUntil(
      () => conditionOf('default', 'CustomMetricsAvailable')?.reason === 'ForeignAPIService',
      'the condition',
    );
    expect(stored('v1beta1')?.service.name).toBe('prometheus-adapter');
    expect(stored('v1beta2')).toBeUndefined();
    queryAnswers(true);
    harness.server.storage.remove(apiServices, undefined, 'v1beta1.custom.metrics.k8s.io');
    await harness.passUntil(() => stored('v1beta1')?.service.name === 'svc-query', 'our own registration');
  });

  test('are taken over with force once the query server answers', async () => {
    const foreign = apiService('v1beta1', { name: 'prometheus-adapter', namespace: 'monitoring' });
    await begin([[apiServices, foreign]], { customMetrics: 'force' });
    expect(stored('v1beta1')?.service.name).toBe('prometheus-adapter');
    queryAnswers(true);
    await harness.passUntil(() => stored('v1beta1')?.service.name === 'svc-query', 'the takeover');
  });

  test('are taken over with force from a server whose certificate nobody verifies', async () => {
    const foreign = apiService('v1beta1', { name: 'prometheus-adapter', namespace: 'monitoring' });
    Object.assign(foreign['spec'] as object, { insecureSkipTLSVerify: true });
    await begin([[apiServices, foreign]], { customMetrics: 'force' });
    const { storage } = harness.server;
    const apply = storage.apply.bind(storage);
    storage.apply = (resource, wanted, meta) => {
      const { name } = wanted.metadata;
      const before = storage.find(resource, undefined, name!)?.['spec'] as typeof spec;
      const spec = wanted['spec'] as { insecureSkipTLSVerify?: boolean; caBundle?: string } | undefined;
      if (wanted.kind === 'APIService' && (spec?.insecureSkipTLSVerify ?? before?.insecureSkipTLSVerify)) {
        throw new StatusError(
          422,
          'Invalid',
          `APIService ${name} is invalid: spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present`,
        );
      }
      return apply(resource, wanted, meta);
    };
    queryAnswers(true);
    await harness.passUntil(() => stored('v1beta1')?.service.name === 'svc-query', 'the takeover');
    await harness.passUntil(() => stored('v1beta2'), 'the other version');
    await harness.idle();
    const applied = () => harness.server.seen({ plural: 'apiservices', verb: 'apply' }).length;
    const before = applied();
    storage.remove(coreResources.services, namespace, names.agent);
    await harness.passUntil(() => storage.find(coreResources.services, namespace, names.agent), 'another reconcile');
    await harness.idle();
    expect(applied()).toBe(before);
  });
});

test('a PodMonitor or ServiceMonitor is created once the cluster has its CRD', async () => {
  const [podMonitors, serviceMonitors] = [
    resourceRef(renderedKinds.PodMonitor),
    resourceRef(renderedKinds.ServiceMonitor),
  ];
  await begin([], {}, [podMonitors, serviceMonitors]);
  expect(harness.server.storage.find(podMonitors, namespace, names.agent)).toBeUndefined();
  const crd = (plural: string): KubeObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
  });
  harness.server.put(coreResources.customResourceDefinitions, crd('podmonitors'));
  await harness.passUntil(() => harness.server.storage.find(podMonitors, namespace, names.agent), 'the pod monitor');
  expect(harness.server.storage.find(serviceMonitors, namespace, names.query)).toBeUndefined();
  expect(harness.server.storage.find(secrets, namespace, names.scraperToken)).toBeDefined();
});

describe('PodMonitors in a cluster that has their CRD', () => {
  const podMonitors = resourceRef(renderedKinds.PodMonitor);
  const crd: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'podmonitors.monitoring.coreos.com' },
  };
  const monitor = () => harness.server.storage.find(podMonitors, namespace, names.agent);
  const intervalOf = (object: KubeObject | undefined) =>
    (object as { spec?: { podMetricsEndpoints: { interval: string }[] } } | undefined)?.spec?.podMetricsEndpoints[0]
      ?.interval;

  test('are repaired on the event of an edit or deletion, and not written while nothing differs', async () => {
    await begin([[coreResources.customResourceDefinitions, crd]], {}, [podMonitors]);
    await harness.passUntil(monitor, 'the pod monitor');
    await harness.idle();
    const applied = () => harness.server.seen({ plural: 'podmonitors', verb: 'apply' }).length;
    const before = applied();
    harness.server.storage.remove(coreResources.services, namespace, names.agent);
    await harness.passUntil(
      () => harness.server.storage.find(coreResources.services, namespace, names.agent),
      'another reconcile',
    );
    await harness.idle();
    expect(applied()).toBe(before);

    harness.server.put(podMonitors, { ...monitor()!, spec: { podMetricsEndpoints: [{ interval: '5m' }] } });
    await harness.passUntil(() => intervalOf(monitor()) === '30s', 'the repair of the edit');
    harness.server.storage.remove(podMonitors, namespace, names.agent);
    await harness.passUntil(monitor, 'the repair of the deletion');
  });

  test('are no longer written once their kind is gone, without an error', async () => {
    await begin([[coreResources.customResourceDefinitions, crd]], {}, [podMonitors]);
    await harness.passUntil(monitor, 'the pod monitor');
    const gone = new StatusError(404, 'NotFound', 'the server could not find the requested resource');
    harness.server.script((request) => request.path.includes('/podmonitors'), { do: 'fail', error: gone }, Infinity);
    for (const watch of harness.server.openWatches()) if (watch.resource.plural === 'podmonitors') watch.end();
    const asked = () => harness.server.requests.filter((r) => r.path.includes('/podmonitors') && r.method === 'PATCH');
    // The CRD is still there, so the operator tries once more to apply the monitor.
    const before = asked().length;
    harness.server.storage.remove(podMonitors, namespace, names.agent);
    await harness.passUntil(() => asked().length > before, 'the try');
    harness.server.storage.remove(coreResources.customResourceDefinitions, undefined, crd.metadata.name!);
    await harness.idle();
    // From now on a reconcile writes everything but the monitor.
    const last = asked().length;
    harness.server.storage.remove(coreResources.services, namespace, names.agent);
    await harness.passUntil(
      () => harness.server.storage.find(coreResources.services, namespace, names.agent),
      'the repair of another child',
    );
    await harness.idle();
    expect(asked()).toHaveLength(last);
    expect(monitor()).toBeUndefined();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

test('objects outside the namespace are owned by the installation, so they are deleted with it', async () => {
  const role: KubeObject = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: names.controller },
  };
  await begin([[coreResources.clusterRoles, role]]);
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
  await begin([[coreResources.clusterRoles, role]]);
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
