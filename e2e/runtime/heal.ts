import type { KubeObject } from '../../src/api/meta.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { coreResources, createKubeClient, type RestClient } from '../../src/kube/index.ts';
import { renderedKinds } from '../../src/render/index.ts';
import { ApplySet, type ApplyOutcome, type Informer } from '../../src/runtime/index.ts';
import type { Cluster } from '../cluster/cluster.ts';

const { deployments, services, statefulSets, roleBindings } = coreResources;
const manager = 'svc-controller/heal';
const metadata = { name: 'web', namespace: 'default' };
let client: RestClient;
type Resource = typeof services;

/** Applies one object through a new ApplySet whose cache holds the live object. */
async function apply(resource: Resource, object: KubeObject): Promise<ApplyOutcome> {
  const live = await client.get<KubeObject>(resource, metadata).catch(() => undefined);
  const informer = {
    source: { resource },
    get: () => live,
    list: () => (live ? [live] : []),
    addIndex: () => {},
    byIndex: () => [],
    wrote: () => {},
  };
  const children = [informer as unknown as Informer];
  const set = new ApplySet({ client, fieldManager: manager, controller: 'heal', children });
  const request = { wanted: [object], force: true, belongs: () => false };
  return set.apply({ ...request, logger: silentLogger, signal: new AbortController().signal });
}
const template = (app: string): object => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image: 'main:1' }] },
});
const deployment = (app: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: { replicas: 0, selector: { matchLabels: { app } }, template: template(app) },
});
const statefulSet = (serviceName: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata,
  spec: { replicas: 0, serviceName, selector: { matchLabels: { app: 'web' } }, template: template('web') },
});
const binding = (role: string): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
  subjects: [{ kind: 'User', name: 'anna', apiGroup: 'rbac.authorization.k8s.io' }],
});
const priorityClass = (value: number): KubeObject => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name: 'web' },
  value,
});

const service = (port: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata,
  spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ name: 'http', port, targetPort: 8080 }] },
});
const ports = async (): Promise<{ port: number; nodePort: number }[]> =>
  ((await client.get<KubeObject>(services, metadata))['spec'] as { ports: { port: number; nodePort: number }[] }).ports;

/** Changes that a server-side apply alone cannot make, tried on a real API server. */
export function healing(of: () => Cluster): void {
  beforeAll(() => {
    client = createKubeClient({ kubeconfig: of().kubeconfig });
  });
  afterAll(() => client.close());

  test.each<[string, Resource, KubeObject, KubeObject]>([
    ['the selector of a Deployment', deployments, deployment('old'), deployment('new')],
    ['the service name of a StatefulSet', statefulSets, statefulSet('old'), statefulSet('new')],
    ['the role of a RoleBinding', roleBindings, binding('old'), binding('new')],
    ['the value of a PriorityClass', renderedKinds.PriorityClass, priorityClass(1), priorityClass(2)],
  ])('%s changes: the object is recreated', async (_name, resource, before, after) => {
    const first = await apply(resource, before);
    expect(first.applied).toHaveLength(1);
    const name = { ...after.metadata, name: 'web' };
    const { uid } = (await client.get<KubeObject>(resource, name)).metadata;
    const outcome = await apply(resource, after);
    expect(outcome.recreated).toHaveLength(1);
    expect((await client.get<KubeObject>(resource, name)).metadata.uid).not.toBe(uid);
    expect((await apply(resource, after)).recreated).toEqual([]);
  });

  test('a port edited by hand is reset, the Service and its node port stay, and later changes go through', async () => {
    await apply(services, service(80));
    const [before] = await ports();
    const { uid } = (await client.get<KubeObject>(services, metadata)).metadata;
    const edit = '[{"op":"replace","path":"/spec/ports/0/port","value":8888}]';
    await of().kubectl(['patch', 'service', 'web', '--type=json', '-p', edit]);
    expect((await apply(services, service(80))).failures).toEqual([]);
    expect(await ports()).toMatchObject([{ port: 80, nodePort: before!.nodePort }]);
    const live = await client.get<KubeObject>(services, metadata);
    expect(live.metadata.uid).toBe(uid);
    const ours = live.metadata.managedFields?.filter((e) => e.manager === manager).map((e) => e.operation);
    expect(ours).toEqual(['Apply']);
    expect((await apply(services, service(80))).skipped).toBe(1);
    await apply(services, service(81));
    expect((await ports()).map((p) => p.port)).toEqual([81]);
  });
}
