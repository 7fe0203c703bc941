import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { errorText } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
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
/** One run of an ApplySet with an empty cache, as if its child had lost the label by which the cache selects. */
function apply(resource: typeof services, object: KubeObject, force = true): Promise<ApplyOutcome> {
  const none = (): void => {};
  const informer = { source: { resource }, get: none, list: () => [], wrote: none, addIndex: none };
  const children = [informer as unknown as Informer];
  const set = new ApplySet({ client, fieldManager: manager, controller: 'test', children });
  return set.apply({ wanted: [object], force, logger: silentLogger, signal: new AbortController().signal });
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
