import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { errorText } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { apiError, coreResources, type KubeClient } from '../../kube/index.ts';
import { FakeApiServer, StatusError } from '../../testing/fake-api-server/index.ts';
import { needsRecreation } from './heal.ts';
import { ApplySet, type ApplyOutcome, type Informer } from '../index.ts';

const { clusterRoleBindings, deployments, services } = coreResources;
const claims = resourceRef({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
});
const manager = 'svc-controller/test';
const meta = { name: 'web', namespace: 'shop', labels: { managed: 'yes' } };
const service = (port: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: meta,
  spec: { ports: [{ name: 'http', port }] },
});
const deployment = (app: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: meta,
  spec: { selector: { matchLabels: { app } } },
});
const refused = (message: string): StatusError =>
  new StatusError(422, 'Invalid', `web is invalid: ${message}`, {
    causes: [{ reason: 'FieldValueInvalid', message, field: 'spec' }],
  });

const clock = new FakeClock();
let server: FakeApiServer;
let client: KubeClient;
beforeEach(async () => {
  server = await FakeApiServer.start({ resources: [claims] });
  client = server.client();
});
afterEach(async () => {
  await client.close();
  await server.stop();
});
/** An ApplySet with an empty cache, as if its child had lost the label by which the cache selects. */
function newSet(resource: typeof services, get: () => KubeObject | undefined = () => undefined): ApplySet {
  const none = (): void => {};
  const informer = { source: { resource }, get, list: () => [], wrote: none, addIndex: none };
  const children = [informer as unknown as Informer];
  return new ApplySet({ client, fieldManager: manager, controller: 'test', children, clock });
}
const request = (object: KubeObject, signal = new AbortController().signal) =>
  ({ wanted: [object], force: true, logger: silentLogger, signal }) as const;
/** One run of a new ApplySet. */
function apply(resource: typeof services, object: KubeObject, force = true): Promise<ApplyOutcome> {
  return newSet(resource).apply({ ...request(object), force });
}
const stored = (resource: typeof services): KubeObject => server.storage.get(resource, 'shop', 'web');

test('a child whose immutable fields differ is recreated, after a successful dry run of the new one', async () => {
  await apply(deployments, deployment('old'));
  const { uid } = stored(deployments).metadata;
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('Invalid value: {}: field is immutable') });
  const outcome = await apply(deployments, deployment('new'));
  expect(outcome.recreated).toEqual(['Deployment shop/web']);
  expect(stored(deployments).metadata.uid).not.toBe(uid);
  expect(stored(deployments)['spec']).toEqual({ selector: { matchLabels: { app: 'new' } } });
  const verbs = server.requests.map((r) => r.verb);
  expect(verbs.slice(-6)).toEqual(['apply', 'get', 'create', 'delete', 'get', 'apply']);
  expect(server.seen({ verb: 'create' })[0]!.query.get('dryRun')).toBe('All');
});

test('nothing is deleted when the new object would be refused too', async () => {
  await apply(deployments, deployment('old'));
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('field is immutable') });
  server.script({ verb: 'create' }, { do: 'fail', error: refused('no such image') });
  await expect(apply(deployments, deployment('new'))).rejects.toThrow('no such image');
  expect(server.seen({ verb: 'delete' })).toEqual([]);
});

const binding = (role: string): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'web' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
});
const roleInForce = (): string | undefined =>
  (server.storage.find(clusterRoleBindings, undefined, 'web')?.['roleRef'] as { name: string } | undefined)?.name;
const plural = 'clusterrolebindings.rbac.authorization.k8s.io';

const lacksRight = `${plural} is forbidden: User "us" cannot create resource "clusterrolebindings" in API group "rbac.authorization.k8s.io" at the cluster scope`;
const forbidden = (message: string): StatusError => new StatusError(403, 'Forbidden', message);

test('a child is recreated where the right to create is restricted to its name, which a create does not show', async () => {
  await apply(clusterRoleBindings, binding('old'));
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  server.script({ verb: 'create' }, { do: 'fail', error: forbidden(lacksRight) });
  const outcome = await apply(clusterRoleBindings, binding('new'));
  expect(outcome.recreated).toEqual(['ClusterRoleBinding web']);
  expect(server.storage.get(clusterRoleBindings, undefined, 'web')['roleRef']).toMatchObject({ name: 'new' });
});

test('the old object comes back if the new one, which the server was not asked about, is refused', async () => {
  const old = binding('old');
  await apply(clusterRoleBindings, { ...old, metadata: { ...old.metadata, labels: { managed: 'yes' } } });
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  server.script({ verb: 'create' }, { do: 'fail', error: forbidden(lacksRight) });
  server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('admission webhook "a.example" denied') });
  await expect(apply(clusterRoleBindings, binding('new'))).rejects.toThrow('admission webhook "a.example" denied');
  const { metadata, ...rest } = server.storage.get(clusterRoleBindings, undefined, 'web');
  expect(rest['roleRef']).toMatchObject({ name: 'old' });
  expect(metadata.labels).toEqual({ managed: 'yes' });
});

/** Runs the set once: the binding's role cannot be changed, and a dry run of a create shows nothing. */
async function tryToRecreate(set: ApplySet, role: string): Promise<string> {
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  server.script({ verb: 'create' }, { do: 'fail', error: forbidden(lacksRight) });
  return set.apply(request(binding(role))).then(() => 'applied', errorText);
}

test('an object that was refused after a deletion is tried again after an hour, or once something else is wanted', async () => {
  await apply(clusterRoleBindings, binding('old'));
  const set = newSet(clusterRoleBindings);
  const deletions = (): number => server.seen({ verb: 'delete' }).length;
  const run = async (role: string, tried = true): Promise<string> => {
    server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
    if (tried) server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('a webhook denied it') });
    server.script({ verb: 'create' }, { do: 'fail', error: forbidden(lacksRight) });
    return set.apply(request(binding(role))).then(() => 'applied', errorText);
  };
  const denied = expect.stringMatching('a webhook denied it') as string;
  expect([await run('new'), deletions()]).toEqual([denied, 1]);
  expect([await run('new', false), deletions()]).toEqual([denied, 1]);
  expect([await run('newer'), deletions()]).toEqual([denied, 2]);
  await clock.advance(3_600_000);
  expect([await run('newer'), deletions()]).toEqual([denied, 3]);
});

test.each([500, 409])('an object that a webhook denies with %d is not tried again in the next run', async (code) => {
  const error = new StatusError(code, 'Denied', 'admission webhook "a" denied the request: no');
  await apply(clusterRoleBindings, binding('old'));
  const set = newSet(clusterRoleBindings);
  for (let run = 0; run < 2; run++) {
    const tried = tryToRecreate(set, 'new');
    if (run === 0) server.script({ verb: 'apply' }, { do: 'fail', error });
    expect(await tried).toMatch('denied the request');
  }
  expect(server.seen({ verb: 'delete' })).toHaveLength(1);
});

test.each([
  ['a passing failure', new StatusError(500, 'InternalError', 'etcdserver: leader changed')],
  ['a conflict', new StatusError(409, 'Conflict', 'the object has been modified')],
  ['a webhook that does not answer', new StatusError(500, 'InternalError', 'failed calling webhook "a": timeout')],
  [
    'the deletion of its namespace',
    new StatusError(403, 'Forbidden', 'is being terminated', { causes: [{ reason: 'NamespaceTerminating' }] }),
  ],
])('an object that was not stored after a deletion because of %s is tried again in the next run', async (_, error) => {
  await apply(clusterRoleBindings, binding('old'));
  const set = newSet(clusterRoleBindings);
  const first = tryToRecreate(set, 'new');
  server.script({ verb: 'apply' }, { do: 'fail', error });
  expect(await first).toMatch(error.message);
  expect(roleInForce()).toBe('old');
  expect(await tryToRecreate(set, 'new')).toBe('applied');
  expect(roleInForce()).toBe('new');
});

test.each(['delete', 'apply'] as const)('the old object is there after a stop that interrupts the %s', async (verb) => {
  await apply(clusterRoleBindings, binding('old'));
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  server.script({ verb: 'create' }, { do: 'fail', error: forbidden(lacksRight) });
  const gate = Promise.withResolvers<void>();
  const stop = new AbortController();
  const known = server.seen({ verb }).length + (verb === 'apply' ? 1 : 0);
  server.script({ verb }, { do: 'hold', until: gate.promise });
  const run = newSet(clusterRoleBindings)
    .apply(request(binding('new'), stop.signal))
    .catch(errorText);
  await until('the request', () => server.seen({ verb }).length > known);
  stop.abort();
  if (verb === 'delete') gate.resolve();
  expect(await run).toMatch('cancelled');
  expect(server.seen({ verb: 'delete' })).toHaveLength(1);
  expect(server.storage.get(clusterRoleBindings, undefined, 'web')['roleRef']).toMatchObject({ name: 'old' });
});

const broken = new StatusError(500, 'InternalError', 'etcdserver: leader changed');

test.each<[string, (set: ApplySet) => Promise<string>]>([
  [
    'the delete is done, but the connection breaks before its answer',
    (set) => {
      server.script({ verb: 'delete' }, { do: 'reset', afterWork: true });
      return tryToRecreate(set, 'new');
    },
  ],
  [
    'the look after the delete fails',
    (set) => {
      // The look at the old object before the delete asks for more than its metadata.
      server.script((r) => r.verb === 'get' && r.metadataOnly, { do: 'fail', error: broken });
      return tryToRecreate(set, 'new');
    },
  ],
])('the old object comes back at once if %s', async (_what, run) => {
  await apply(clusterRoleBindings, binding('old'));
  expect(await run(newSet(clusterRoleBindings))).not.toBe('applied');
  expect(server.seen({ verb: 'delete' })).toHaveLength(1);
  expect(roleInForce()).toBe('old');
});

test('the old object comes back in the next run if its own apply failed and the new one is still refused', async () => {
  await apply(clusterRoleBindings, binding('old'));
  const set = newSet(clusterRoleBindings);
  const denied = forbidden('a webhook denied it');
  const run = tryToRecreate(set, 'new');
  server.script({ verb: 'apply' }, { do: 'fail', error: denied });
  server.script({ verb: 'apply' }, { do: 'fail', error: broken });
  expect(await run).toMatch(/a webhook denied it.*leader changed/);
  expect(roleInForce()).toBeUndefined();
  server.script({ verb: 'apply' }, { do: 'fail', error: denied });
  await expect(set.apply(request(binding('new')))).rejects.toThrow('a webhook denied it');
  expect(roleInForce()).toBe('old');
  // The second refusal counts as well, so the old object is not deleted again.
  expect(await tryToRecreate(set, 'new')).toMatch('a webhook denied it');
  expect(server.seen({ verb: 'delete' })).toHaveLength(1);
});

test('the old object comes back once its finalizers are done, if the new one is refused then', async () => {
  const { metadata, ...rest } = binding('old');
  await apply(clusterRoleBindings, { ...rest, metadata: { ...metadata, finalizers: ['other.dev/hold'] } });
  const set = newSet(clusterRoleBindings);
  expect(await tryToRecreate(set, 'new')).toMatch('is being deleted');
  server.put(clusterRoleBindings, { ...rest, metadata: { ...metadata, finalizers: [] } });
  expect(roleInForce()).toBeUndefined();
  server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('a webhook denied it') });
  await expect(set.apply(request(binding('new')))).rejects.toThrow('a webhook denied it');
  expect(roleInForce()).toBe('old');
  expect(server.storage.get(clusterRoleBindings, undefined, 'web').metadata.deletionTimestamp).toBeUndefined();
});

test('a refusal of a change to the old object does not count as one of the new object', async () => {
  const { metadata, ...rest } = binding('old');
  await apply(clusterRoleBindings, { ...rest, metadata: { ...metadata, finalizers: ['other.dev/hold'] } });
  const set = newSet(clusterRoleBindings);
  expect(await tryToRecreate(set, 'new')).toMatch('is being deleted');
  // The old object goes between the refusal and the look at it.
  server.put(clusterRoleBindings, { ...rest, metadata: { ...metadata, finalizers: [] } });
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  await expect(set.apply(request(binding('new')))).rejects.toThrow('cannot change roleRef');
  expect(roleInForce()).toBe('old');
  // So the next run tries again, and meets the old one's finalizers.
  expect(await tryToRecreate(set, 'new')).toMatch('is being deleted');
});

test.each<[string, (set: ApplySet) => Promise<unknown>, string]>([
  ['the new one was stored', (set) => set.apply(request(binding('new'))), 'new'],
  [
    'another has its name',
    (set) => {
      server.put(clusterRoleBindings, binding('theirs'));
      server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('a webhook denied it') });
      return set.apply(request(binding('new'))).catch(errorText);
    },
    'theirs',
  ],
])('an old object never comes back once %s', async (_what, run, role) => {
  await apply(clusterRoleBindings, binding('old'));
  const set = newSet(clusterRoleBindings);
  const first = tryToRecreate(set, 'new');
  server.script({ verb: 'apply' }, { do: 'fail', error: broken }, 2);
  await first;
  expect(roleInForce()).toBeUndefined();
  await run(set);
  expect(roleInForce()).toBe(role);
  await client.delete(clusterRoleBindings, { name: 'web' });
  server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('a webhook denied it') });
  await expect(set.apply(request(binding('new')))).rejects.toThrow('a webhook denied it');
  expect(roleInForce()).toBeUndefined();
});

test.each<[string, KubeObject[]]>([
  ['a cache shows the new one, whose apply had no answer', [binding('new')]],
  ['the name is no longer wanted', []],
])('an old object never comes back once %s', async (_what, wanted) => {
  await apply(clusterRoleBindings, binding('old'));
  let shown: KubeObject | undefined;
  const set = newSet(clusterRoleBindings, () => shown);
  // The first look is the one after the delete, the second that before the old one is put back.
  let looks = 0;
  server.script((r) => r.verb === 'get' && r.metadataOnly && ++looks === 2, { do: 'fail', error: broken });
  const first = tryToRecreate(set, 'new');
  server.script({ verb: 'apply' }, { do: 'reset', afterWork: true });
  expect(await first).toMatch('leader changed');
  expect(roleInForce()).toBe('new');
  shown = server.storage.get(clusterRoleBindings, undefined, 'web');
  await set.apply({ ...request(binding('new')), wanted });
  shown = undefined;
  await client.delete(clusterRoleBindings, { name: 'web' });
  server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('a webhook denied it') });
  expect(await set.apply(request(binding('new'))).catch(errorText)).toMatch('a webhook denied it');
  expect(roleInForce()).toBeUndefined();
});

test('if neither the new object nor the old one can be stored, the error says both', async () => {
  await apply(clusterRoleBindings, binding('old'));
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  server.script({ verb: 'create' }, { do: 'fail', error: forbidden(lacksRight) });
  server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('no new one') });
  server.script({ verb: 'apply' }, { do: 'fail', error: forbidden('no old one') });
  await expect(apply(clusterRoleBindings, binding('new')).catch(errorText)).resolves.toMatch(/no new one.*no old one/);
});

test.each([
  `${plural} "web" is forbidden: user "us" (groups=["a"]) is attempting to grant RBAC permissions not currently held`,
  `admission webhook "a.example" denied the request: User "us" cannot create resource "web"`,
  `admission webhook "a.example" denied the request: create ClusterRoleBinding web: 403 ${lacksRight}`,
])('nothing is deleted when admission forbids the new object: %s', async (message) => {
  await apply(clusterRoleBindings, binding('old'));
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('cannot change roleRef') });
  server.script({ verb: 'create' }, { do: 'fail', error: new StatusError(403, 'Forbidden', message) });
  await expect(apply(clusterRoleBindings, binding('new'))).rejects.toThrow(message);
  expect(server.seen({ verb: 'delete' })).toEqual([]);
});

test('objects of other managers and objects that hold data are never recreated', async () => {
  server.put(deployments, deployment('theirs'), 'somebody');
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('field is immutable') }, 3);
  await expect(apply(deployments, deployment('new'))).rejects.toThrow('immutable');
  await expect(apply(deployments, deployment('new'), false)).rejects.toThrow('immutable');
  const claim: KubeObject = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: meta, spec: {} };
  server.storage.apply(claims, claim, { manager });
  await expect(apply(claims, { ...claim, spec: { size: 1 } })).rejects.toThrow('immutable');
  expect(server.seen({ verb: 'delete' })).toEqual([]);
});

test('while finalizers keep the old object, its recreation fails with a conflict', async () => {
  const kept = { ...deployment('old'), metadata: { ...meta, finalizers: ['other.dev/hold'] } };
  server.storage.apply(deployments, kept, { manager });
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('field is immutable') });
  await expect(apply(deployments, deployment('new'))).rejects.toMatchObject({ code: 'ERR_API_CONFLICT' });
  expect(stored(deployments).metadata.deletionTimestamp).toBeDefined();
});

test('a hand-edited port is put back, the rest of its list item stays, and nothing is owned twice', async () => {
  await apply(services, service(80));
  const edited = { ports: [{ name: 'http', port: 8080, nodePort: 30_123 }] };
  server.put(services, { ...stored(services), spec: edited }, 'kubectl-edit');
  const duplicate = refused('Duplicate value: "http"');
  server.script({ verb: 'apply' }, { do: 'fail', error: duplicate });
  await apply(services, service(80));
  expect(stored(services)['spec']).toEqual({ ports: [{ name: 'http', port: 80, nodePort: 30_123 }] });
  const owners = stored(services).metadata.managedFields?.map((e) => `${e.manager} ${e.operation}`);
  expect(owners).toEqual([`${manager} Apply`]);
});

test.each([
  ['the server was away', new StatusError(500, 'InternalError', 'etcdserver: leader changed')],
  ['a write came between', new StatusError(422, 'Invalid', 'the server rejected our request: testing value failed')],
])('what a repair of a list owns twice is released by the next run, where %s', async (_why, error) => {
  await apply(services, service(80));
  const edited = { ports: [{ name: 'http', port: 8080 }] };
  server.put(services, { ...stored(services), spec: edited }, 'kubectl-edit');
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('Duplicate value: "http"') });
  // The first patch is the replacement.
  server.script({ verb: 'patch' }, { do: 'hold', until: Promise.resolve() });
  server.script({ verb: 'patch' }, { do: 'fail', error });
  await expect(apply(services, service(80))).rejects.toThrow();
  await apply(services, service(80));
  const owners = stored(services).metadata.managedFields?.map((e) => `${e.manager} ${e.operation}`);
  expect(owners).toEqual([`${manager} Apply`]);
});

test('a refusal that is not about list items is thrown', async () => {
  await apply(services, service(80));
  server.script({ verb: 'apply' }, { do: 'fail', error: refused('must be a valid name') });
  await expect(apply(services, service(80))).rejects.toThrow('must be a valid name');
  expect(server.seen({ verb: 'patch' })).toEqual([]);
});

test.each([
  ['Invalid value: {"matchLabels":{}}: field is immutable', true],
  ['Invalid value: {}: cannot change roleRef', true],
  ["Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden", true],
  ['Forbidden: may not be changed in an update.', true],
  ['Duplicate value: "http"', false],
  ['Required value', false],
])('the refusal "%s" needs a recreation: %p', (message, expected) => {
  expect(needsRecreation(apiError('apply', 422, refused(message).toStatus()))).toBe(expected);
  expect(needsRecreation(apiError('apply', 400, refused(message).toStatus()))).toBe(false);
  expect(needsRecreation(new Error(message))).toBe(false);
});
