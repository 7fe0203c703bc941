import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../api/meta.ts';
import { busy, FakeApiServer, StatusError } from '../testing/fake-api-server/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import {
  coreResources,
  createKubeClient,
  fieldConflicts,
  getIfExists,
  isConflict,
  isNotFound,
  listAll,
  type KubeClient,
} from './index.ts';

const configMap = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data,
});
const { configMaps } = coreResources;

let server: FakeApiServer;
let clock: FakeClock;
beforeEach(async () => {
  server = await FakeApiServer.start();
  clock = new FakeClock();
});
afterEach(() => server.stop());

test('fills in the kind that the server leaves out inside lists', async () => {
  server.put(configMaps, configMap('a'));
  const { items } = await server.client().list(configMaps, { namespace: 'shop' });
  expect(items).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }]);
});

test('an apply of any text stores that text, with U+FFFD for half a surrogate pair', async () => {
  const units = Array.from({ length: 0x1_00_00 }, (_, unit) => String.fromCharCode(unit)).join(' ');
  const data = { units, path: 'C:\\ud83d', whole: '\u{1f600}', twoHalves: '\ude00\ud83d' };
  await server.client().apply(configMaps, configMap('a', data), { fieldManager: 'us' });
  expect(server.storage.get(configMaps, 'shop', 'a')['data']).toEqual({
    ...data,
    units: units.toWellFormed(),
    twoHalves: '\ufffd\ufffd',
  });
});

test('reads a long list page by page, and again in one piece if the continue token expires', async () => {
  for (let i = 0; i < 7; i++) server.put(configMaps, configMap(`c${i}`));
  const client = server.client();
  expect((await listAll(client, configMaps, {}, 3)).items).toHaveLength(7);
  expect(server.seen({ verb: 'list' })).toHaveLength(3);
  let hits = 0;
  server.script((r) => r.verb === 'list' && r.query.has('continue') && ++hits === 1, {
    do: 'fail',
    error: new StatusError(410, 'Expired', 'continue token too old'),
  });
  expect((await listAll(client, configMaps, {}, 3)).items.map(({ metadata }) => metadata?.name)).toEqual(
    Array.from({ length: 7 }, (_, i) => `c${i}`),
  );
  // The first page, the page that failed, and the whole list.
  const asked = server.seen({ verb: 'list' }).slice(3);
  expect(asked.map(({ query }) => [query.get('limit'), query.has('continue')])).toEqual([
    ['3', false],
    ['3', true],
    [null, false],
  ]);
});

test.each<[string, (client: KubeClient) => Promise<unknown>]>([
  ['list', (client) => client.list(configMaps)],
  ['get', (client) => client.get(configMaps, { namespace: 'shop', name: 'a' })],
  ['create', (client) => client.create(configMaps, configMap('b'))],
])('a %s that was answered with 429 waits the Retry-After seconds and then succeeds', async (verb, call) => {
  server.put(configMaps, configMap('a'));
  server.script({ verb: verb as 'list' }, { do: 'fail', error: busy(), retryAfter: '7' });
  const done = call(server.client(clock));
  await until('the first try', () => server.seen({ verb: verb as 'list' }).length === 1 && clock.pending === 2);
  await clock.advance(6_900);
  expect(server.seen({ verb: verb as 'list' })).toHaveLength(1);
  await clock.advance(200);
  expect(await done).toBeDefined();
  expect(server.seen({ verb: verb as 'list' })).toHaveLength(2);
});

test('the delay after a 429 is read from the body if there is no Retry-After header', async () => {
  server.script({ verb: 'get' }, { do: 'fail', error: busy(3) });
  server.put(configMaps, configMap('a'));
  const got = server.client(clock).get(configMaps, { namespace: 'shop', name: 'a' });
  await until('the wait', () => clock.pending === 2);
  await clock.advance(2_900);
  expect(server.seen({ verb: 'get' })).toHaveLength(1);
  await clock.advance(100);
  expect(await got).toMatchObject({ metadata: { name: 'a' } });
});

test('returns a 429 immediately to a caller that opts out of retries', async () => {
  server.script({ verb: 'get' }, { do: 'fail', error: busy(), retryAfter: '2' });
  await expect(
    server.client().get(configMaps, { namespace: 'shop', name: 'a' }, { retry: false }),
  ).rejects.toMatchObject({ status: 429, retryAfterMs: 2_000 });
});

test('repeats a read after a lost connection', async () => {
  server.put(configMaps, configMap('a'));
  server.script({ verb: 'get' }, { do: 'reset' });
  const got = server.client(clock).get(configMaps, { namespace: 'shop', name: 'a' });
  await until('the first try', () => server.seen({ verb: 'get' }).length === 1 && clock.pending === 2);
  await clock.advance(100);
  expect(await got).toMatchObject({ metadata: { name: 'a' } });
});

const shopA = { namespace: 'shop', name: 'a' };
test.each<[string, (client: KubeClient) => Promise<unknown>]>([
  ['create', (client) => client.create(configMaps, configMap('b'))],
  ['update', (client) => client.update(configMaps, configMap('a'))],
  ['apply', (client) => client.apply(configMaps, configMap('a'), { fieldManager: 'm' })],
  ['patch', (client) => client.patch(configMaps, shopA, { type: 'merge', body: { data: { x: '1' } } })],
  ['delete', (client) => client.delete(configMaps, shopA)],
])('never repeats a write after a lost connection: %s', async (_verb, write) => {
  server.put(configMaps, configMap('a'));
  const { length } = server.requests;
  server.script({}, { do: 'reset', afterWork: true });
  await expect(write(server.client(clock))).rejects.toMatchObject({ code: 'ERR_API_REQUEST' });
  expect(server.requests).toHaveLength(length + 1);
});

test('a request gives up at its deadline', async () => {
  server.script({ verb: 'get' }, { do: 'hold', until: new Promise(() => {}) });
  const got = server.client(clock).get(configMaps, { namespace: 'shop', name: 'a' }, { deadlineMs: 4_000 });
  const failed = expect(got).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  await until('the request', () => server.seen({ verb: 'get' }).length === 1);
  let isOver = false;
  void failed.finally(() => (isOver = true));
  await clock.advance(3_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await failed;
});

test('distinguishes a cancelled call from a failed one', async () => {
  const abort = new AbortController();
  server.script({ verb: 'get' }, { do: 'hold', until: new Promise(() => {}) });
  const got = server.client().get(configMaps, { namespace: 'shop', name: 'a' }, { signal: abort.signal });
  await until('the request', () => server.seen({ verb: 'get' }).length === 1);
  abort.abort();
  await expect(got).rejects.toMatchObject({ code: 'ERR_ABORTED' });
});

test.each([
  [404, 'NotFound', 'ERR_API_NOT_FOUND'],
  [403, 'Forbidden', 'ERR_API_FORBIDDEN'],
  [409, 'Conflict', 'ERR_API_CONFLICT'],
  [410, 'Expired', 'ERR_WATCH_EXPIRED'],
  [422, 'Invalid', 'ERR_API_INVALID'],
  [500, 'InternalError', 'ERR_API_REQUEST'],
])('maps %i %s to %s', async (code, reason, expected) => {
  server.script({ verb: 'get' }, { do: 'fail', error: new StatusError(code, reason, 'because') });
  await expect(server.client().get(configMaps, { namespace: 'shop', name: 'a' })).rejects.toMatchObject({
    code: expected,
    status: code,
    reason,
  });
});

test('an answer that is not a Status is still an error with its text', async () => {
  server.script({ verb: 'get' }, { do: 'raw', status: 502, body: 'bad gateway' });
  await expect(server.client().get(configMaps, { namespace: 'shop', name: 'a' })).rejects.toThrow(/502 bad gateway/);
});

test('getIfExists returns undefined for a missing object', async () => {
  expect(await getIfExists(server.client(), configMaps, { namespace: 'shop', name: 'a' })).toBeUndefined();
  const error: unknown = await server
    .client()
    .get(configMaps, { namespace: 'shop', name: 'a' })
    .catch((e: unknown) => e);
  expect(isNotFound(error)).toBe(true);
});

test('a namespaced object without a namespace is refused before anything is sent', async () => {
  await expect(server.client().get(configMaps, { name: 'a' })).rejects.toThrow(/metadata.namespace is missing/);
  expect(server.requests).toHaveLength(0);
});

test('an apply conflict names the other field manager and the field, and force overrides it', async () => {
  const client = server.client();
  await client.apply(configMaps, configMap('a', { x: '1' }), { fieldManager: 'one' });
  const error: unknown = await client
    .apply(configMaps, configMap('a', { x: '2' }), { fieldManager: 'two' })
    .catch((e: unknown) => e);
  expect(error).toMatchObject({ code: 'ERR_APPLY_CONFLICT' });
  expect(isConflict(error)).toBe(true);
  expect(fieldConflicts(error)).toEqual([{ manager: 'one', field: '.data.x' }]);
  await client.apply(configMaps, configMap('a', { x: '2' }), { fieldManager: 'two', force: true });
  expect(server.storage.get(configMaps, 'shop', 'a')).toMatchObject({ data: { x: '2' } });
  expect(server.seen({ verb: 'apply' })[0]?.query.get('fieldValidation')).toBe('Strict');
});

test('a delete with a uid spares a newer object of the same name', async () => {
  server.put(configMaps, configMap('a'));
  await expect(
    server.client().delete(configMaps, { namespace: 'shop', name: 'a' }, { uid: 'another' }),
  ).rejects.toMatchObject({ status: 409 });
  expect(server.storage.find(configMaps, 'shop', 'a')).toBeDefined();
});

describe('with a token in a file', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-kube-'));
    const config = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { tokenFile: join(dir, 'token') } }],
    };
    await writeFile(join(dir, 'config'), JSON.stringify(config));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  test('uses the rotated token on the next request after a 401', async () => {
    server.put(configMaps, configMap('a'));
    server.token = 'first';
    await writeFile(join(dir, 'token'), 'first\n');
    const client = createKubeClient({ kubeconfig: join(dir, 'config'), clock });
    await client.get(configMaps, { namespace: 'shop', name: 'a' });
    server.token = 'second';
    await writeFile(join(dir, 'token'), 'second\n');
    await clock.advance(5_000);
    expect(await client.get(configMaps, { namespace: 'shop', name: 'a' })).toMatchObject({ metadata: { name: 'a' } });
    expect(server.requests.map((r) => r.authorization)).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
    await client.close();
  });

  test('a token that is rotated during a wait for Retry-After is used', async () => {
    server.put(configMaps, configMap('a'));
    server.token = 'first';
    await writeFile(join(dir, 'token'), 'first\n');
    const client = createKubeClient({ kubeconfig: join(dir, 'config'), clock });
    await client.get(configMaps, { namespace: 'shop', name: 'a' });
    server.script({ verb: 'get' }, { do: 'fail', error: busy(), retryAfter: '5' });
    const got = client.get(configMaps, { namespace: 'shop', name: 'a' });
    await until('the wait', () => server.seen({ verb: 'get' }).length === 2 && clock.pending === 2);
    server.token = 'second';
    await writeFile(join(dir, 'token'), 'second\n');
    await clock.advance(5_000);
    expect(await got).toMatchObject({ metadata: { name: 'a' } });
    await client.close();
  });

  const get = (client: KubeClient): Promise<unknown> => client.get(configMaps, shopA);

  test.each<[string, () => Promise<void>]>([
    ['empty', () => writeFile(join(dir, 'token'), '\n')],
    ['missing', () => rm(join(dir, 'token'))],
  ])('while the token file is %s, the former token is sent, and the new one within a second', async (_what, spoil) => {
    server.put(configMaps, configMap('a'));
    await writeFile(join(dir, 'token'), 'first\n');
    const client = createKubeClient({ kubeconfig: join(dir, 'config'), clock });
    await get(client);
    await spoil();
    await clock.advance(61_000);
    await get(client);
    await writeFile(join(dir, 'token'), 'second\n');
    await clock.advance(1_001);
    await get(client);
    expect(server.requests.map((r) => r.authorization)).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
    await client.close();
  });

  test('nothing is sent while there is no token to send: at the start, and once the former token was refused', async () => {
    server.put(configMaps, configMap('a'));
    server.token = 'first';
    await writeFile(join(dir, 'token'), '');
    const client = createKubeClient({ kubeconfig: join(dir, 'config'), clock });
    const noToken = { code: 'ERR_CONFIG_INVALID', message: expect.stringContaining('token is empty') as string };
    await expect(get(client)).rejects.toMatchObject(noToken);
    await writeFile(join(dir, 'token'), 'first');
    await get(client);
    server.token = 'second';
    await writeFile(join(dir, 'token'), '');
    await clock.advance(1_001);
    await expect(get(client)).rejects.toMatchObject(noToken);
    await expect(get(client)).rejects.toMatchObject(noToken);
    await writeFile(join(dir, 'token'), 'second');
    await get(client);
    expect(server.requests.map((r) => r.authorization)).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
    await client.close();
  });

  test('once the credentials are refused, a kubeconfig that is not taken is the error, until it is taken again', async () => {
    server.put(configMaps, configMap('a'));
    server.token = 'first';
    await writeFile(join(dir, 'token'), 'first');
    const whole = await readFile(join(dir, 'config'), 'utf8');
    const client = createKubeClient({ kubeconfig: join(dir, 'config'), clock });
    await get(client);
    await writeFile(join(dir, 'config'), whole.replace(server.url, 'http://127.0.0.1:2'));
    await clock.advance(61_000);
    await get(client);
    server.token = 'second';
    await clock.advance(5_000);
    const notTaken = { code: 'ERR_CONFIG_INVALID', message: expect.stringContaining('no longer means') as string };
    await expect(get(client)).rejects.toMatchObject(notTaken);
    await expect(get(client)).rejects.toMatchObject(notTaken);
    await writeFile(join(dir, 'config'), whole);
    await writeFile(join(dir, 'token'), 'second');
    await get(client);
    expect(server.requests.map((r) => r.authorization)).toEqual([
      ...['Bearer first', 'Bearer first'],
      ...['Bearer first', 'Bearer second'],
    ]);
    await client.close();
  });

  test('if the token in the file is still refused at one more try, the request fails', async () => {
    server.token = 'right';
    await writeFile(join(dir, 'token'), 'wrong');
    const client = createKubeClient({ kubeconfig: join(dir, 'config'), clock });
    await expect(client.get(configMaps, { namespace: 'shop', name: 'a' })).rejects.toMatchObject({ status: 401 });
    expect(server.requests).toHaveLength(2);
  });

  test('impersonated groups are refused, not silently dropped', async () => {
    const user = { token: 't', as: 'jane', 'as-groups': ['a', 'b'] };
    const config = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user }],
    };
    await writeFile(join(dir, 'config'), JSON.stringify(config));
    expect(() => createKubeClient({ kubeconfig: join(dir, 'config') })).toThrow(/as-groups is not supported/);
  });
});

test('a dry run of a delete removes nothing', async () => {
  server.put(configMaps, configMap('kept'));
  const name = { namespace: 'shop', name: 'kept' };
  await server.client().delete(configMaps, name, { dryRun: true });
  expect(server.storage.find(configMaps, 'shop', 'kept')).toBeDefined();
  await server.client().delete(configMaps, name);
  expect(server.storage.find(configMaps, 'shop', 'kept')).toBeUndefined();
});
