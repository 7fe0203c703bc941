import type { KubeObject, OwnerReference } from '../../api/meta.ts';
import { OperatorError } from '../../base/errors.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import {
  controllerDefaults,
  names,
  platformDefaults,
  renderInstallation,
  renderPlatform,
  selectorLabels,
} from '../../render/index.ts';
import type { MinterInstallation } from '../../render/index.ts';
import { aConfigMap, anObject, anOwnerReference, aResource, FakeApiServer, FakeClock } from '../../testing/index.ts';
import { applyInstallation, planInstallation, toApply, type InstallerDeps, type ObjectChange } from './installer.ts';
import { uninstall } from './uninstaller.ts';

/**
 * Whose a namespace is decides whether an installation changes it, and whether it goes with the installation. A command
 * with the wrong namespace changes nothing.
 */

const namespace = 'monitoring';
const { namespaces, configMaps, deployments, events, leases, secrets, serviceAccounts } = coreResources;
const { clusterRoleBindings, customResourceDefinitions, daemonSets, nodes, pods, roleBindings } = coreResources;
const widgets = aResource('Widget');

let server: FakeApiServer;
let deps: InstallerDeps;
let said: string[];

beforeEach(async () => {
  server = await FakeApiServer.start({ resources: [widgets] });
  deps = { client: server.client(), clock: new FakeClock(), signal: new AbortController().signal };
  said = [];
});
afterEach(async () => {
  await deps.client.close();
  await server.stop();
});

const found = (): KubeObject | undefined => server.storage.find(namespaces, undefined, namespace);
const inside = (): string[] =>
  [configMaps, deployments, leases, secrets, widgets]
    .flatMap((resource) => server.storage.list(resource))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`);

/** Plans an installation in the namespace and applies it, as the command does. */
async function install(into = namespace): Promise<ObjectChange[]> {
  const wanted = renderInstallation({ controller: { ...controllerDefaults, namespace: into } });
  const changes = await planInstallation(wanted, deps, { namespace: into, force: false });
  await applyInstallation(toApply(changes), deps, { force: false, onDone: () => {} });
  return changes;
}

/** What Kubernetes and the operator add to the namespace without our labels. */
function run(): void {
  const metadata = { namespace, name: names.controller };
  server.put(leases, anObject({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }));
  server.put(events, anObject({ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata }));
  server.put(configMaps, aConfigMap({}, { namespace, name: 'svc-capture-failures' }));
  server.put(configMaps, aConfigMap({}, { namespace, name: 'kube-root-ca.crt' }));
  server.put(serviceAccounts, anObject({ kind: 'ServiceAccount', metadata: { namespace, name: 'default' } }));
}

const remove = (options: { namespace?: string; dryRun?: boolean; keepCrds?: boolean } = {}): Promise<void> =>
  uninstall(
    {
      namespace,
      deleteData: false,
      keepCrds: false,
      dryRun: false,
      timeoutMs: 1_000,
      progress: (line) => said.push(line),
      ...options,
    },
    deps,
  );

test('a namespace that others made is not changed, and stays with what they put into it', async () => {
  const theirs = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { team: 'a' } } };
  const before = server.put(namespaces, theirs);
  const changes = await install();
  expect(changes[0]).toMatchObject({ object: { kind: 'Namespace' }, change: 'foreign', diff: [] });
  expect(found()).toEqual(before);
  expect(inside()).toEqual([`Deployment ${names.controller}`]);
  run();
  server.put(configMaps, aConfigMap({}, { namespace, name: 'theirs' }));
  await remove();
  expect(found()).toEqual(before);
  expect(inside()).toEqual(['ConfigMap kube-root-ca.crt', 'ConfigMap theirs']);
  expect(said).toContain(`namespace/${namespace} stays: others made it`);
});

test('what OpenShift and Istio put into every namespace keeps none', async () => {
  await install();
  run();
  for (const name of ['openshift-service-ca.crt', 'istio-ca-root-cert'])
    server.put(configMaps, aConfigMap({}, { namespace, name }));
  for (const name of ['system:image-pullers', 'system:image-builders', 'system:deployers'])
    server.put(
      roleBindings,
      anObject({ kind: 'RoleBinding', apiVersion: roleBindings.apiVersion, metadata: { namespace, name } }),
    );
  const builder = server.put(
    serviceAccounts,
    anObject({ kind: 'ServiceAccount', metadata: { namespace, name: 'builder' } }),
  );
  server.put(
    secrets,
    anObject({
      kind: 'Secret',
      metadata: { namespace, name: 'builder-dockercfg-x7k2p', ownerReferences: [anOwnerReference(builder)] },
    }),
  );
  await remove();
  expect(found()).toBeUndefined();
});

test('a namespace that the installation made goes with it', async () => {
  const changes = await install();
  expect(changes[0]).toMatchObject({ object: { kind: 'Namespace' }, change: 'created' });
  run();
  await remove({ dryRun: true });
  expect(said).toContain(`namespace/${namespace} would be deleted`);
  expect(found()).toBeDefined();
  await remove();
  expect(found()).toBeUndefined();
});

test.each([
  ['an object', configMaps, aConfigMap({}, { namespace, name: 'theirs' }), 'configmap/monitoring/theirs'],
  [
    'an object of any kind',
    widgets,
    anObject({ apiVersion: widgets.apiVersion, kind: 'Widget', metadata: { namespace, name: 'theirs' } }),
    'widget/monitoring/theirs',
  ],
])('a namespace with our label stays while it holds %s of others', async (_what, resource, object, title) => {
  await install();
  run();
  server.put(resource, object);
  await remove();
  expect(found()).toBeDefined();
  expect(inside()).toEqual(['ConfigMap kube-root-ca.crt', `${object.kind} theirs`]);
  expect(said).toContain(`namespace/${namespace} stays: it holds objects of others, such as ${title}`);
  server.storage.remove(resource, namespace, 'theirs');
  await remove();
  expect(found()).toBeUndefined();
});

const report = (name: string, ...ownerReferences: OwnerReference[]): KubeObject => {
  const metadata = { namespace, name, ownerReferences };
  return server.put(widgets, anObject({ apiVersion: widgets.apiVersion, kind: 'Widget', metadata }));
};
const aPod = (name: string, labels: Record<string, string>): KubeObject =>
  server.put(pods, anObject({ kind: 'Pod', metadata: { namespace, name, labels } }));

test('what other operators report about our pods does not keep the namespace', async () => {
  await install();
  const agent = anOwnerReference(aPod('svc-agent-1', selectorLabels('agent')));
  report('of-the-agent', agent);
  report('of-a-report', anOwnerReference(report('of-the-agent-too', agent)));
  report('of-a-pod-that-is-gone', { ...agent, uid: 'gone' });
  await remove({ dryRun: true });
  expect(said).toContain(`namespace/${namespace} would be deleted`);
});

test.each<[string, () => OwnerReference]>([
  ['a pod of others', () => anOwnerReference(aPod('theirs', {}))],
  ['a node', () => anOwnerReference(server.put(nodes, anObject({ kind: 'Node', metadata: { name: 'a' } })))],
])('what belongs to %s besides keeps the namespace', async (_what, owner) => {
  await install();
  const agent = anOwnerReference(aPod('svc-agent-1', selectorLabels('agent')));
  report('of-both', agent, owner());
  await remove({ dryRun: true });
  expect(said.join('\n')).toMatch(
    /^namespace\/monitoring stays: it holds objects of others, such as .*widget\/monitoring\/of-both$/m,
  );
});

test('the records of the Helm release that made the namespace do not keep it, those of another release do', async () => {
  await install();
  const annotations = { 'meta.helm.sh/release-name': 'svc-operator' };
  server.put(namespaces, { ...found()!, metadata: { name: namespace, annotations } });
  const record = (release: string): string => `sh.helm.release.v1.${release}.v1`;
  for (const release of ['svc-operator', 'shop'])
    server.put(secrets, anObject({ kind: 'Secret', metadata: { namespace, name: record(release) } }));
  await remove();
  expect(said).toContain(
    `namespace/${namespace} stays: it holds objects of others, such as secret/${namespace}/${record('shop')}`,
  );
  server.storage.remove(secrets, namespace, record('shop'));
  await remove();
  expect(found()).toBeUndefined();
});

const elsewhere = new OperatorError(
  'ERR_CONFIG_INVALID',
  'the operator is installed in namespace monitoring; use --namespace=monitoring',
);
const everything = (): KubeObject[] =>
  [...Object.values(coreResources), ...kinds.map(({ resource }) => resource)].flatMap((ref) =>
    server.storage.list(ref),
  );
const { namespace: byDefault } = controllerDefaults;

test.each<[string, () => Promise<unknown>]>([
  ['a removal', () => remove({ namespace: byDefault })],
  ['the dry run of a removal', () => remove({ namespace: byDefault, dryRun: true })],
  ['an installation', () => install(byDefault)],
])('%s with another namespace than the installation’s is refused before it changes anything', async (_what, call) => {
  await install();
  const before = everything();
  await expect(call()).rejects.toEqual(elsewhere);
  expect(everything()).toEqual(before);
  expect(said).toEqual([]);
  // Without its binding, the operator's Deployment says where it is.
  server.storage.remove(clusterRoleBindings, undefined, names.controller);
  await expect(call()).rejects.toEqual(elsewhere);
  // A removal that was interrupted may have left agents alone.
  server.storage.remove(deployments, namespace, names.controller);
  server.put(
    daemonSets,
    renderPlatform({ ...platformDefaults, namespace }).find(({ kind }) => kind === 'DaemonSet')!,
  );
  await expect(call()).rejects.toEqual(elsewhere);
});

test('an installation from which a second one took the rights is told how to get rid of either', async () => {
  await install();
  const operator = server.storage.get(deployments, namespace, names.controller);
  server.storage.remove(clusterRoleBindings, undefined, names.controller);
  server.storage.remove(deployments, namespace, names.controller);
  await install(byDefault);
  server.put(deployments, operator);
  const refusal =
    'the operator is installed in namespaces monitoring and svc-system, and the one in svc-system has the rights; to ' +
    'keep that one alone, run `kubectl -n monitoring delete deployments,daemonsets -l ' +
    "'app.kubernetes.io/name=svc-operator,app.kubernetes.io/component in (controller,agent,query)'`; otherwise remove " +
    'that one first (`svc uninstall --namespace=svc-system --keep-crds`), then repeat this command';
  const twice = new OperatorError('ERR_CONFIG_INVALID', refusal);
  await expect(install()).rejects.toEqual(twice);
  await expect(remove()).rejects.toEqual(twice);
  await remove({ namespace: byDefault, keepCrds: true });
  await install();
  const { subjects } = server.storage.get(clusterRoleBindings, undefined, names.controller) as never as {
    subjects: object[];
  };
  expect(subjects).toMatchObject([{ namespace }]);
  expect(server.storage.list(deployments).map(({ metadata }) => metadata.namespace)).toEqual([namespace]);
});

test('an installation whose namespace is gone refuses nothing, and a removal can be repeated', async () => {
  await install();
  for (const resource of [deployments, namespaces])
    for (const { metadata } of server.storage.list(resource))
      server.storage.remove(resource, metadata.namespace, metadata.name!);
  await install(byDefault);
  expect(server.storage.list(deployments).map(({ metadata }) => metadata.namespace)).toEqual([byDefault]);
  await remove({ namespace: byDefault });
  expect(server.storage.list(customResourceDefinitions)).toEqual([]);
  await remove({ namespace: byDefault });
});

test('a minter in the operator’s own namespace leaves that namespace as the operator needs it', () => {
  const minter: MinterInstallation = {
    ...{ name: 'minter', namespace, image: 'minter:1', replicas: 1, org: 'acme', repository: 'gitops' },
    ...{ extraRepositories: [], keyVersion: 'key', callers: ['a@acme.example'], serviceAccountAnnotations: {} },
  };
  const wanted = renderInstallation({ controller: { ...controllerDefaults, namespace }, minter });
  const made = wanted.filter(({ kind }) => kind === 'Namespace');
  expect(made.map(({ metadata }) => metadata.labels)).toEqual([
    expect.objectContaining({ 'pod-security.kubernetes.io/enforce': 'privileged' }),
  ]);
});
