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

describe.each([
  ['shows it', 'managed=yes'],
  ['has no selector', undefined],
])('where the cache of the children %s', (_, labelSelector) => {
  const informer = (): SharedInformer =>
    new SharedInformer({
      source: { resource: configMaps, labelSelector },
      logger: silentLogger,
      clock: new FakeClock(),
    });
  const anOwner = (name: string): KubeObject => {
    server.put(secrets, object(secrets, name, 'shop'));
    return server.storage.get(secrets, 'shop', name);
  };
  const wanted = [object(configMaps, 'shared', 'shop')];
  const { signal } = new AbortController();
  const run = (set: ApplySet, owner: KubeObject): Promise<ApplyOutcome> =>
    set.tryApply({ wanted, owner: { object: owner, resource: secrets }, force: true, logger: silentLogger, signal });
  const aSet = (): ApplySet =>
    new ApplySet({ client, fieldManager: 'svc-controller/test', controller: 'test', children: [informer()] });
  const childOwners = (): unknown => server.storage.get(configMaps, 'shop', 'shared').metadata.ownerReferences;

  test('the child that one owner has is refused to a second one, by name of the first', async () => {
    const set = aSet();
    const first = anOwner('first');
    await run(set, first);
    const { failures } = await run(set, anOwner('second'));
    const message = 'ConfigMap shop/shared belongs to Secret first';
    expect(failures).toMatchObject([
      { object: 'ConfigMap shop/shared', error: { code: 'ERR_APPLY_CONFLICT', message } },
    ]);
    expect(childOwners()).toMatchObject([{ uid: first.metadata.uid }]);
    expect((await run(set, first)).skipped).toBe(1);
  });

  test('an owner that was made anew takes the children of its predecessor', async () => {
    const set = aSet();
    await run(set, anOwner('first'));
    server.storage.remove(secrets, 'shop', 'first');
    const again = anOwner('first');
    expect(await run(set, again)).toMatchObject({ applied: ['ConfigMap shop/shared'], failures: [] });
    expect(childOwners()).toMatchObject([{ uid: again.metadata.uid }]);
  });

  test('a child that this manager applied and nobody owns any more is taken', async () => {
    const set = aSet();
    await run(set, anOwner('first'));
    const live = server.storage.get(configMaps, 'shop', 'shared');
    const metadata = { ...live.metadata, ownerReferences: [] };
    server.storage.update(configMaps, { ...live, metadata }, { manager: 'kube-controller-manager' });
    const second = anOwner('second');
    expect(await run(aSet(), second)).toMatchObject({ applied: ['ConfigMap shop/shared'], failures: [] });
    expect(childOwners()).toMatchObject([{ uid: second.metadata.uid }]);
  });
});

test('a child of another owner that the cache does not show is refused although this manager applied it', async () => {
  const [first, second] = ['first', 'second'].map((name) => {
    server.put(secrets, object(secrets, name, 'shop'));
    return server.storage.get(secrets, 'shop', name);
  });
  await apply(secrets, first!, [object(configMaps, 'shared', 'shop')]);
  const { failures } = await apply(secrets, second!, [object(configMaps, 'shared', 'shop')]);
  expect(failures).toMatchObject([{ error: { code: 'ERR_APPLY_CONFLICT' } }]);
  const { metadata } = server.storage.get(configMaps, 'shop', 'shared');
  expect(metadata.ownerReferences).toMatchObject([{ uid: first!.metadata.uid }]);
});
