import type { KubeObject } from '../../src/api/meta.ts';
import {
  coreResources,
  fieldConflicts,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  listAll,
  type KubeClient,
  type WatchFrame,
} from '../../src/kube/index.ts';
import { handleFinalizer } from '../../src/runtime/apply/finalizer.ts';
import { ownsExactly } from '../../src/runtime/apply/managed-fields.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { configMapIn, failure, onBothServers } from './both-servers.ts';
import { until } from '../../src/testing/until.ts';
import { kindParity, namespace as ofKinds } from './kind-parity.ts';
import { namespace as ofScenarios, scenarios } from './scenario-parity.ts';

const { configMaps, deployments, services } = coreResources;
const manager = 'svc-controller/parity';
const namespace = 'parity';
const configMap = configMapIn(namespace);
const deployment = (image = 'web:1'): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace, labels: { app: 'web' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'web',
            image,
            ports: [{ containerPort: 80, name: 'http' }],
            env: [{ name: 'A', value: '1' }],
            resources: { limits: { cpu: '1000m', memory: '0.5Gi' } },
          },
        ],
        volumes: [{ name: 'tmp', emptyDir: {} }],
      },
    },
  },
});

/** Characters from U+007F on that YAML takes only escaped, and two halves of surrogate pairs, which it never takes. */
const notInYaml = [0x7f, 0x80, 0x84, 0x86, 0x9f, 0xff_fe, 0xff_ff, 0xd8_3d, 0xde_00];

/**
 * Every test here runs against a real API server and against the fake one of the unit tests, which rely on the fake to
 * be like the real one. No test covers faults, because only the fake server produces them on demand.
 */
export function apiParity(of: () => Cluster): void {
  onBothServers(of, [namespace, ofKinds, ofScenarios], (on) => {
    let client: KubeClient;
    beforeAll(() => {
      client = on.client;
    });

    test('a create gives uid, version and creation time, and a second create is refused', async () => {
      const made = await client.create(configMaps, configMap('made'));
      expect(made.metadata).toMatchObject({ uid: expect.any(String), resourceVersion: expect.any(String) });
      expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(isAlreadyExists(await failure(client.create(configMaps, configMap('made'))))).toBe(true);
      expect(isNotFound(await failure(client.get(configMaps, { namespace, name: 'absent' })))).toBe(true);
    });

    test('an update with an old version is a conflict; an update without a change keeps the version', async () => {
      const first = await client.create(configMaps, configMap('versions', { x: '1' }));
      const second = await client.update(configMaps, { ...first, data: { x: '2' } });
      expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
      expect(isConflict(await failure(client.update(configMaps, { ...first, data: { x: '3' } })))).toBe(true);
      const same = await client.update(configMaps, second);
      expect(same.metadata.resourceVersion).toBe(second.metadata.resourceVersion);
    });

    test('a generation grows with the spec and not with status or labels', async () => {
      const made = await client.apply(deployments, deployment(), { fieldManager: manager });
      expect(made.metadata.generation).toBe(1);
      const labelled = { ...deployment(), metadata: { ...deployment().metadata, labels: { app: 'web', x: 'y' } } };
      expect((await client.apply(deployments, labelled, { fieldManager: manager })).metadata.generation).toBe(1);
      const status = { type: 'merge' as const, body: { status: { observedGeneration: 1 } } };
      const after = await client.patch(deployments, { namespace, name: 'web' }, status, { subresource: 'status' });
      expect(after.metadata.generation).toBe(1);
      const changed = await client.apply(deployments, deployment('web:2'), { fieldManager: manager });
      expect(changed.metadata.generation).toBe(2);
      await client.delete(deployments, { namespace, name: 'web' });
    });

    test('a second apply of the same object changes nothing, and ownsExactly predicts it', async () => {
      const first = await client.apply(deployments, deployment(), { fieldManager: manager });
      expect(ownsExactly(first, deployment(), manager)).toBe(true);
      expect(ownsExactly(first, deployment('web:2'), manager)).toBe(false);
      const second = await client.apply(deployments, deployment(), { fieldManager: manager });
      expect(second.metadata.generation).toBe(first.metadata.generation);
      await client.delete(deployments, { namespace, name: 'web' });
      const plain = await client.apply(configMaps, configMap('same', { a: '1' }), { fieldManager: manager });
      const again = await client.apply(configMaps, configMap('same', { a: '1' }), { fieldManager: manager });
      expect(again.metadata.resourceVersion).toBe(plain.metadata.resourceVersion);
    });

    test('an apply removes the fields that it leaves out, and keeps fields of other managers', async () => {
      await client.apply(configMaps, configMap('shared', { a: '1', b: '1' }), { fieldManager: manager });
      await client.apply(configMaps, configMap('shared', { c: '1' }), { fieldManager: 'other' });
      const after = await client.apply(configMaps, configMap('shared', { a: '1' }), { fieldManager: manager });
      expect(after['data']).toEqual({ a: '1', c: '1' });
    });

    test('an apply of any text stores that text, with U+FFFD for half a surrogate pair', async () => {
      const units = Array.from({ length: 0x1_00_00 }, (_, unit) => String.fromCharCode(unit)).join(' ');
      const data = { units, path: 'C:\\ud83d', whole: '\u{1f600}' };
      const after = await client.apply(configMaps, configMap('special', data), { fieldManager: manager });
      expect(after['data']).toEqual({ ...data, units: units.toWellFormed() });
    });

    test('an apply whose JSON has such a character unescaped, or half a pair, is refused or read with other spaces', async () => {
      const path = `/api/v1/namespaces/${namespace}/configmaps/raw?fieldManager=${manager}`;
      const contentType = 'application/apply-patch+yaml';
      const send = async (object: KubeObject): Promise<KubeObject> => {
        if (on.real) return on.cluster.api.request('PATCH', path, object, { contentType });
        const request = { method: 'PATCH', headers: { 'content-type': contentType }, body: JSON.stringify(object) };
        const answer = await fetch(on.fake.url + path, request);
        if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
        return (await answer.json()) as KubeObject;
      };
      const read = async (unit: number): Promise<unknown> =>
        send(configMap('raw', { x: `a ${String.fromCharCode(unit)} b` })).then(
          (object) => (object['data'] as { x: string }).x,
          ({ status, message }: Error & { status: number }) => [status, /error decoding YAML/.test(message)],
        );
      const answers: unknown[] = [];
      for (const unit of [...notInYaml, 0x85, 0x20_28, 0x20_29]) answers.push(await read(unit));
      expect(answers).toEqual([...notInYaml.map(() => [400, true]), 'a b', 'a\u2028b', 'a\u2029b']);
    });

    test('an apply over another manager is a conflict that names it; force takes the field', async () => {
      await client.apply(configMaps, configMap('fought', { a: '1' }), { fieldManager: 'other' });
      const error = await failure(client.apply(configMaps, configMap('fought', { a: '2' }), { fieldManager: manager }));
      expect(error).toMatchObject({ code: 'ERR_APPLY_CONFLICT' });
      expect(fieldConflicts(error)).toEqual([{ manager: 'other', field: '.data.a' }]);
      const after = await client.apply(configMaps, configMap('fought', { a: '2' }), {
        fieldManager: manager,
        force: true,
      });
      expect(after['data']).toEqual({ a: '2' });
      expect(ownsExactly(after, configMap('fought', { a: '2' }), manager)).toBe(true);
    });

    test('an empty map or list does not conflict with what others put into it', async () => {
      const web = (emptyDir: object, finalizers: string[]): KubeObject => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'filled', namespace, finalizers },
        spec: {
          selector: { matchLabels: { app: 'web' } },
          template: {
            metadata: { labels: { app: 'web' } },
            spec: { containers: [{ name: 'web', image: 'web:1' }], volumes: [{ name: 'tmp', emptyDir }] },
          },
        },
      });
      const [empty, filled] = [web({}, []), web({ medium: 'Memory' }, ['svc.dev/parity'])];
      await client.apply(deployments, empty, { fieldManager: 'other' });
      const live = await client.apply(deployments, filled, { fieldManager: manager });
      expect(live.metadata.finalizers).toEqual(['svc.dev/parity']);
      expect(ownsExactly(live, filled, manager)).toBe(true);
      const after = await client.apply(deployments, empty, { fieldManager: 'other' });
      expect(ownsExactly(after, filled, manager)).toBe(true);
      const body = { metadata: { finalizers: null } };
      await client.patch(deployments, { namespace, name: 'filled' }, { type: 'merge', body });
      await client.delete(deployments, { namespace, name: 'filled' });
    });

    test('another writer takes ownership of the fields that it changes', async () => {
      await client.apply(configMaps, configMap('edited', { a: '1', b: '1' }), { fieldManager: manager });
      const body = { data: { a: 'edited' } };
      const name = { namespace, name: 'edited' };
      const live = await client.patch(configMaps, name, { type: 'merge', body }, { fieldManager: 'kubectl-edit' });
      expect(ownsExactly(live, configMap('edited', { a: '1', b: '1' }), manager)).toBe(false);
    });

    test('a JSON patch whose test fails is 422, and a test for null passes on an absent member', async () => {
      const made = await client.create(configMaps, configMap('patched'));
      const name = { namespace, name: 'patched' };
      const wrong = [{ op: 'test' as const, path: '/metadata/uid', value: 'another' }];
      expect(isInvalid(await failure(client.patch(configMaps, name, { type: 'json', operations: wrong })))).toBe(true);
      const options = { client, resource: configMaps, finalizer: 'svc.dev/parity', fieldManager: manager };
      expect(await handleFinalizer(made, options, () => Promise.resolve())).toBe('added');
      // Another owner changes the finalizers while our view is stale.
      const stale = await client.get(configMaps, name);
      const add = [{ op: 'add' as const, path: '/metadata/finalizers/-', value: 'other.dev/owner' }];
      await client.patch(configMaps, name, { type: 'json', operations: add });
      await client.delete(configMaps, name);
      const going = await client.get(configMaps, name);
      expect(going.metadata.deletionTimestamp).toBeDefined();
      const late = { ...stale, metadata: { ...stale.metadata, deletionTimestamp: going.metadata.deletionTimestamp! } };
      expect(await failure(handleFinalizer(late, options, () => Promise.resolve()))).toMatchObject({
        code: 'ERR_API_CONFLICT',
      });
      expect(await handleFinalizer(going, options, () => Promise.resolve())).toBe('removed');
      expect((await client.get(configMaps, name)).metadata.finalizers).toEqual(['other.dev/owner']);
      await client.patch(configMaps, name, {
        type: 'json',
        operations: [{ op: 'remove', path: '/metadata/finalizers' }],
      });
      expect(isNotFound(await failure(client.get(configMaps, name)))).toBe(true);
    });

    test('an apply without the last finalizer of an object that is being deleted removes the object', async () => {
      const name = { namespace, name: 'applied-away' };
      const held = configMap('applied-away', { a: '1' }, { finalizers: ['svc.dev/one', 'svc.dev/two'] });
      await client.apply(configMaps, held, { fieldManager: manager });
      await client.delete(configMaps, name);
      const one = configMap('applied-away', { a: '1' }, { finalizers: ['svc.dev/two'] });
      const going = await client.apply(configMaps, one, { fieldManager: manager });
      expect(going.metadata).toMatchObject({
        deletionTimestamp: expect.any(String),
        finalizers: ['svc.dev/two'],
      });
      const gone = await client.apply(configMaps, configMap('applied-away', { a: '1' }), { fieldManager: manager });
      expect([gone.metadata.uid, gone.metadata.finalizers]).toEqual([going.metadata.uid, undefined]);
      expect(isNotFound(await failure(client.get(configMaps, name)))).toBe(true);
    });

    test('a delete with another uid is a conflict', async () => {
      await client.create(configMaps, configMap('kept'));
      const error = await failure(client.delete(configMaps, { namespace, name: 'kept' }, { uid: 'another' }));
      expect(isConflict(error)).toBe(true);
    });

    test('lists come in pages and by selectors, and every item has its kind', async () => {
      for (let i = 0; i < 5; i++) {
        await client.create(
          configMaps,
          configMap(`page-${i}`, { big: 'x' }, { labels: { set: 'pages', n: String(i) } }),
        );
      }
      const labelSelector = 'set=pages,n notin (4)';
      const { items } = await listAll(client, configMaps, { namespace, labelSelector }, 2);
      expect(items.map((o) => o.metadata.name)).toEqual(['page-0', 'page-1', 'page-2', 'page-3']);
      const one = await client.list(configMaps, { namespace, fieldSelector: 'metadata.name=page-1' });
      expect(one.items).toHaveLength(1);
      expect(one.items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
      const first = await client.list(configMaps, { namespace, labelSelector, limit: 2 });
      expect(first.continue).toBeDefined();
      // The cache of a real server may lag behind the creations.
      await until('the whole list, whatever the limit, from the cache of the server', async () => {
        const cached = await client.list(configMaps, { namespace, labelSelector, limit: 2, resourceVersion: '0' });
        return cached.continue === undefined && cached.items.length === items.length;
      });
    });

    test('a watch resumes from a version, follows selectors, and ends an initial stream with its bookmark', async () => {
      const labelled = (value: string): KubeObject => configMap('watched', { v: value }, { labels: { watch: value } });
      await client.create(configMaps, labelled('yes'));
      const { resourceVersion } = await client.list(configMaps, { namespace });
      const stop = new AbortController();
      const frames: WatchFrame[] = [];
      const follow = async (options: object, target: WatchFrame[]): Promise<void> => {
        const scope = { namespace, labelSelector: 'watch=yes', signal: stop.signal };
        for await (const frame of client.watch(configMaps, { ...scope, ...options })) target.push(frame);
      };
      const resumed = follow({ resourceVersion }, frames).catch(() => {});
      const initial: WatchFrame[] = [];
      const streamed = follow({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, initial).catch(
        () => {},
      );
      await until('the bookmark', async () => initial.some((f) => f.type === 'BOOKMARK'));
      expect(initial.map((f) => f.type)).toEqual(['ADDED', 'BOOKMARK']);
      expect((initial[1]!.object as KubeObject).metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      await client.update(configMaps, {
        ...(await client.get(configMaps, { namespace, name: 'watched' })),
        data: { v: '2' },
      });
      await client.apply(configMaps, labelled('no'), { fieldManager: manager, force: true });
      await client.apply(configMaps, labelled('yes'), { fieldManager: manager, force: true });
      await client.delete(configMaps, { namespace, name: 'watched' });
      await until('four frames', async () => frames.length >= 4);
      expect(frames.map((f) => f.type)).toEqual(['MODIFIED', 'DELETED', 'ADDED', 'DELETED']);
      stop.abort();
      await Promise.all([resumed, streamed]);
    });

    test('metadata alone has no content, in a get, a list, a watch and its bookmark', async () => {
      await client.create(configMaps, configMap('bare', { a: '1' }, { labels: { bare: 'yes' } }));
      const bare = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: expect.objectContaining({ labels: { bare: 'yes' } }),
      };
      const options = { namespace, labelSelector: 'bare=yes', metadataOnly: true };
      expect(await client.get(configMaps, { namespace, name: 'bare' }, options)).toEqual(bare);
      expect((await client.list(configMaps, options)).items).toEqual([bare]);
      const stop = new AbortController();
      const stream = { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' as const };
      const frames: WatchFrame[] = [];
      const following = (async () => {
        for await (const frame of client.watch(configMaps, { ...stream, signal: stop.signal })) frames.push(frame);
      })().catch(() => {});
      await until('the bookmark', async () => frames.some((f) => f.type === 'BOOKMARK'));
      const name = { namespace, name: 'bare' };
      await client.patch(configMaps, name, { type: 'merge', body: { data: { a: '2' } } });
      await client.delete(configMaps, name);
      await until('three changes', async () => frames.filter((f) => f.type !== 'BOOKMARK').length >= 3);
      const seen = frames.map(({ type, object }) => [type, Object.keys(object as object).toSorted()]);
      const members = ['apiVersion', 'kind', 'metadata'];
      expect(seen).toEqual(['ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED'].map((type) => [type, members]));
      stop.abort();
      await following;
    });

    test('a dry run stores nothing', async () => {
      await client.apply(
        services,
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'dry', namespace },
          spec: { ports: [{ port: 80 }] },
        },
        { fieldManager: manager, dryRun: true },
      );
      expect(isNotFound(await failure(client.get(services, { namespace, name: 'dry' })))).toBe(true);
    });

    describe('kinds', () => kindParity(on));
    describe('scenarios of the runtime’s tests', () => scenarios(on));
  });
}
