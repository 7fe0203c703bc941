import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resourceRef, type KubeObject } from '../../src/api/meta.ts';
import {
  coreResources,
  createKubeClient,
  isConflict,
  isForbidden,
  isNotFound,
  isResourceVersionTooLarge,
  isUnauthorized,
  listAll,
  type KubeClient,
  type WatchFrame,
} from '../../src/kube/index.ts';
import { microTime } from '../../src/runtime/index.ts';
import { StatusError } from '../../src/testing/index.ts';
import { until } from '../../src/testing/until.ts';
import { configMapIn, failure, type OneServer } from './both-servers.ts';
import { definitionOf } from './kind-parity.ts';

/**
 * The scenarios of the runtime's tests, without their scripted faults, on the real and on the scripted API server. They
 * show what a list, a stream, an identity, a write and a lease look like when nothing goes wrong, and which faults a
 * real server produces by itself.
 */

const { configMaps, leases } = coreResources;
export const namespace = 'scenarios';
const gadgets = resourceRef({
  group: 'example.dev',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  namespaced: true,
});
const configMap = configMapIn(namespace);

export function scenarios(on: OneServer): void {
  let client: KubeClient;
  beforeAll(() => {
    client = on.client;
  });
  const versionNow = async (): Promise<string> => (await client.list(configMaps, { namespace })).resourceVersion;
  /** Watches a namespace from a version while `work` runs, until `count` frames other than bookmarks have arrived. */
  async function follow(from: string, count: number, work: () => Promise<unknown>): Promise<WatchFrame[]> {
    const stop = new AbortController();
    const frames: WatchFrame[] = [];
    const reading = (async () => {
      for await (const frame of client.watch(configMaps, { namespace, resourceVersion: from, signal: stop.signal })) {
        if (frame.type !== 'BOOKMARK') frames.push(frame);
      }
    })().catch((error: unknown) => error);
    await work();
    await until(`${count} frames`, async () => frames.length >= count);
    stop.abort();
    await reading;
    return frames;
  }
  const named = (frames: WatchFrame[]): string[] =>
    frames.map((f) => `${f.type} ${(f.object as KubeObject).metadata.name}`);

  test('stream: a watch from an old version that is still stored replays all later changes in order', async () => {
    const old = await versionNow();
    for (const name of ['since-1', 'since-2']) await client.create(configMaps, configMap(name));
    await client.delete(configMaps, { namespace, name: 'since-1' });
    const frames = await follow(old, 3, () => Promise.resolve());
    expect(named(frames)).toEqual(['ADDED since-1', 'ADDED since-2', 'DELETED since-1']);
  });

  test('stream: a burst of multi-byte text arrives complete, in order, and as the requested kind', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `burst-${String(i).padStart(2, '0')}`);
    const frames = await follow(await versionNow(), names.length, async () => {
      for (const name of names) await client.create(configMaps, configMap(name, { text: '→ grüße 😀 '.repeat(200) }));
    });
    expect(named(frames)).toEqual(names.map((name) => `ADDED ${name}`));
    expect(frames.every((f) => (f.object as KubeObject).kind === 'ConfigMap')).toBe(true);
    expect((frames[7]!.object as KubeObject)['data']).toEqual({ text: '→ grüße 😀 '.repeat(200) });
  });

  test('stream: a quiet watch carries only bookmarks, ends after the requested time, and can resume', async () => {
    const types: string[] = [];
    let version = await versionNow();
    const watch = client.watch(configMaps, {
      namespace,
      resourceVersion: version,
      timeoutSeconds: 5,
      signal: AbortSignal.timeout(30_000),
    });
    const ticking = on.real ? undefined : setInterval(() => on.fake.bookmarkAll(), 200);
    const ending = on.real
      ? undefined
      : setTimeout(() => on.fake.openWatches('configmaps').forEach((w) => w.end()), 1_500);
    for await (const frame of watch) {
      types.push(frame.type);
      version = (frame.object as KubeObject).metadata.resourceVersion ?? version;
    }
    clearInterval(ticking);
    clearTimeout(ending);
    // The server sends the first bookmark within a minute, so there may be none yet.
    expect(types.filter((type) => type !== 'BOOKMARK')).toEqual([]);
    expect(types.length).toBeGreaterThanOrEqual(on.real ? 0 : 1);
    const next = await follow(version, 1, () => client.create(configMaps, configMap('after-bookmark')));
    expect(named(next)).toEqual(['ADDED after-bookmark']);
  });

  test('stream: a write that changes nothing sends no event; a change sends one with its version', async () => {
    const made = await client.create(configMaps, configMap('echo', { a: '1' }));
    let written: KubeObject | undefined;
    const frames = await follow(await versionNow(), 1, async () => {
      await client.update(configMaps, made);
      written = await client.update(configMaps, { ...made, data: { a: '2' } });
    });
    expect(frames).toHaveLength(1);
    expect((frames[0]!.object as KubeObject).metadata.resourceVersion).toBe(written!.metadata.resourceVersion);
  });

  test('list: pages follow a continue token; a future version is refused as too large', async () => {
    for (let i = 0; i < 5; i++)
      await client.create(configMaps, configMap(`token-${i}`, {}, { labels: { set: 'token' } }));
    const { items } = await listAll(client, configMaps, { namespace, labelSelector: 'set=token' }, 2);
    expect(items).toHaveLength(5);
    const future = {
      namespace,
      resourceVersion: '999999999',
      resourceVersionMatch: 'NotOlderThan' as const,
      retry: false,
    };
    expect(isResourceVersionTooLarge(await failure(client.list(configMaps, future)))).toBe(true);
  });

  test('list: 404 until the kind exists, then a list', async () => {
    expect(isNotFound(await failure(client.list(gadgets, { namespace })))).toBe(true);
    if (on.real) await client.create(coreResources.customResourceDefinitions, definitionOf(gadgets));
    else on.fake.addResource(gadgets);
    await until('the list', async () => (await client.list(gadgets, { namespace })).items.length === 0);
  });

  test('list: a wrong token gets 401; the token of a user who may not list gets 403', async () => {
    const file = join(on.cluster.dir, `token-${on.real}.json`);
    const withToken = async (token: string): Promise<KubeClient> => {
      const where = on.real ? on.cluster.server : on.fake.url;
      const config = {
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: where, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'u', user: { token } }],
      };
      await writeFile(file, JSON.stringify(config));
      return createKubeClient({ kubeconfig: file });
    };
    let token = 'right';
    if (on.real) token = (await on.cluster.kubectl(['-n', namespace, 'create', 'token', 'default'])).trim();
    else on.fake.token = token;
    const stranger = await withToken('wrong');
    expect(isUnauthorized(await failure(stranger.list(configMaps, { namespace })))).toBe(true);
    await stranger.close();
    if (!on.real)
      on.fake.script({ verb: 'list' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'may not list') });
    const known = await withToken(token);
    expect(isForbidden(await failure(known.list(configMaps, { namespace })))).toBe(true);
    await known.close();
    on.fake.token = undefined;
  });

  test('identity: an object deleted between two watches is not listed; a resumed watch has its deletion', async () => {
    await client.create(configMaps, configMap('gone'));
    const before = await versionNow();
    await client.delete(configMaps, { namespace, name: 'gone' });
    const { items } = await client.list(configMaps, { namespace });
    expect(items.some((o) => o.metadata.name === 'gone')).toBe(false);
    expect(named(await follow(before, 1, () => Promise.resolve()))).toEqual(['DELETED gone']);
  });

  test('identity: a recreated object has another uid, in a get and in a stream', async () => {
    const first = await client.create(configMaps, configMap('again'));
    const frames = await follow(await versionNow(), 2, async () => {
      await client.delete(configMaps, { namespace, name: 'again' });
      await client.create(configMaps, configMap('again'));
    });
    expect(named(frames)).toEqual(['DELETED again', 'ADDED again']);
    const uids = frames.map((f) => (f.object as KubeObject).metadata.uid);
    expect(uids[0]).toBe(first.metadata.uid);
    expect(uids[1]).not.toBe(first.metadata.uid);
    const live = await client.get<KubeObject>(configMaps, { namespace, name: 'again' });
    expect(live.metadata.uid).toBe(uids[1]);
  });

  test('writes: a status update at an old version is a conflict, at the newest version it succeeds', async () => {
    const { namespaces } = coreResources;
    const made = await client.create<KubeObject>(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'stale' },
    });
    const body = { metadata: { labels: { a: '1' } } };
    const newer = await client.patch<KubeObject>(namespaces, { name: 'stale' }, { type: 'merge', body });
    const old = { ...newer, metadata: { ...newer.metadata, resourceVersion: made.metadata.resourceVersion! } };
    expect(isConflict(await failure(client.update(namespaces, old, { subresource: 'status' })))).toBe(true);
    await client.update(namespaces, newer, { subresource: 'status' });
  });

  test('lease: of two updates from the same version only one succeeds; times have six fractional digits', async () => {
    const spec = (holder: string): object => ({
      holderIdentity: holder,
      leaseDurationSeconds: 15,
      renewTime: microTime(Date.UTC(2026, 0, 1)),
    });
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'one', namespace } };
    const made = await client.create<KubeObject>(leases, { ...lease, spec: spec('') });
    const race = ['a', 'b'].map((holder) => failure(client.update(leases, { ...made, spec: spec(holder) })));
    const lost = (await Promise.all(race)).filter((error) => error !== undefined);
    expect(lost).toHaveLength(1);
    expect(isConflict(lost[0])).toBe(true);
    const live = await client.get<KubeObject>(leases, { namespace, name: 'one' });
    expect((live['spec'] as { renewTime: string }).renewTime).toBe('2026-01-01T00:00:00.000000Z');
  });
}
