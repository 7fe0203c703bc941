import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ApplySet, type ApplyOutcome } from '../index.ts';
import { SharedInformer } from '../watch/informer.ts';

const { configMaps, namespaces, secrets } = coreResources;

let server: FakeApiServer;
let client: KubeClient;
beforeEach(async () => {
  server = await FakeApiServer.start();
  client = server.client();
});
afterEach(async () => {
  await client.close();
  await server.stop();
});

const object = (resource: ResourceRef, name: string, namespace?: string): KubeObject => ({
  apiVersion: resource.apiVersion,
  kind: resource.kind,
  metadata: { name, ...(namespace ? { namespace } : {}), labels: { managed: 'yes' } },
});

/** One run of an ApplySet whose caches are empty. */
function apply(
  resource: ResourceRef,
  owner: KubeObject,
  wanted: KubeObject[],
  adjust?: (child: KubeObject) => KubeObject,
): Promise<ApplyOutcome> {
  const clock = new FakeClock();
  const children = [configMaps, namespaces].map(
    (kind) =>
      new SharedInformer({
        source: { resource: kind, labelSelector: 'managed=yes' },
        logger: silentLogger,
        clock,
      }),
  );
  const set = new ApplySet({ client, fieldManager: 'svc-controller/test', controller: 'test', children });
  const signal = new AbortController().signal;
  return set.tryApply({ wanted, owner: { object: owner, resource }, adjust, logger: silentLogger, signal });
}

test('a child outside of the namespace of its owner is refused, and the others are applied', async () => {
  server.put(secrets, object(secrets, 'owner', 'shop'));
  const wanted = [
    object(configMaps, 'far', 'other'),
    object(namespaces, 'wide'),
    object(configMaps, 'adrift'),
    object(configMaps, 'near', 'shop'),
  ];
  const { applied, failures } = await apply(secrets, server.storage.get(secrets, 'shop', 'owner'), wanted);
  expect(applied).toEqual(['ConfigMap shop/near']);
  const error = expect.objectContaining({
    code: 'ERR_INPUT_INVALID',
    message: expect.stringContaining('outside of namespace shop') as unknown,
  }) as unknown;
  expect(failures).toEqual([
    { kind: 'ConfigMap', object: 'ConfigMap other/far', error },
    { kind: 'Namespace', object: 'Namespace wide', error },
    { kind: 'ConfigMap', object: 'ConfigMap adrift', error },
  ]);
  expect(server.storage.find(configMaps, 'other', 'far')).toBeUndefined();
});

test('a cluster-scoped owner has children everywhere', async () => {
  server.put(namespaces, object(namespaces, 'owner'));
  const wanted = [object(configMaps, 'far', 'other'), object(namespaces, 'wide')];
  const { applied } = await apply(namespaces, server.storage.get(namespaces, undefined, 'owner'), wanted);
  expect(applied).toEqual(['ConfigMap other/far', 'Namespace wide']);
});

test('whether the name of a new child is taken is asked once, also where the live object is needed for the child', async () => {
  server.put(namespaces, object(namespaces, 'owner'));
  const owner = server.storage.get(namespaces, undefined, 'owner');
  await apply(namespaces, owner, [object(configMaps, 'near', 'shop')], (child) => child);
  expect(server.seen({ verb: 'get', name: 'near' })).toHaveLength(1);
});
