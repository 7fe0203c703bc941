import { resourceRef, type KubeObject, type OwnerReference } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { SharedInformer } from '../watch/informer.ts';
import { toAll, toIndexed, toKey, toOwner, toSelf } from './mappers.ts';

const widget = resourceRef({
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});
const child = (references: Partial<OwnerReference>[], labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'shop', labels, ownerReferences: references as OwnerReference[] },
});
const owner = (over: Partial<OwnerReference> = {}): Partial<OwnerReference> => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  name: 'w',
  controller: true,
  ...over,
});

test.each<[string, Partial<OwnerReference>[], object[]]>([
  ['the controlling owner is a key', [owner()], [{ namespace: 'shop', name: 'w' }]],
  ['an owner of any version is a key', [owner({ apiVersion: 'example.dev/v2' })], [{ namespace: 'shop', name: 'w' }]],
  ['an owner that does not control is no key', [owner({ controller: false })], []],
  ['an owner of another kind is no key', [owner({ kind: 'Gadget' })], []],
  ['an owner of the same kind in another group is no key', [owner({ apiVersion: 'other.dev/v1' })], []],
  ['an object without owners gives no key', [], []],
])('toOwner: %s', (_name, references, keys) => {
  expect(toOwner(widget)(child(references))).toEqual(keys);
});

test('toOwner can include owners that do not control; a cluster-scoped owner has no namespace', () => {
  const references = [owner({ controller: false }), owner({ name: 'x' })];
  expect(toOwner(widget, { controllerOnly: false })(child(references))).toHaveLength(2);
  expect(toOwner({ ...widget, namespaced: false })(child([owner()]))).toEqual([{ name: 'w' }]);
});

test('toOwner gives no key of a namespaced owner for a cluster-scoped object, which it cannot own', () => {
  const { namespace: _none, ...metadata } = child([owner()]).metadata;
  expect(toOwner(widget)({ ...child([]), metadata })).toEqual([]);
});

test('toSelf, toKey, toAll and toIndexed map a changed object to keys', () => {
  const informer = new SharedInformer({
    source: { resource: coreResources.configMaps },
    logger: silentLogger,
    clock: new FakeClock(),
  });
  informer.addIndex('team', (o) => [o.metadata.labels?.['team'] ?? '']);
  informer.replace([child([], { team: 'red' })]);
  const changed = child([], { wants: 'red' });
  expect(toSelf(changed)).toEqual([{ namespace: 'shop', name: 'a' }]);
  expect(toKey({ name: 'only' })(changed)).toEqual([{ name: 'only' }]);
  expect(toAll(informer)(changed)).toEqual([{ namespace: 'shop', name: 'a' }]);
  expect(toIndexed<KubeObject>(informer, 'team', (o) => o.metadata.labels?.['wants'])(changed)).toHaveLength(1);
  expect(toIndexed<KubeObject>(informer, 'team', () => undefined)(changed)).toEqual([]);
});
