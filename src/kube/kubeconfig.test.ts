import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createCa } from '../net/ca.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { coreResources, createKubeClient } from './index.ts';
import { currentCluster, currentUser, fullConfig, loadKubeSettings, serverOf } from './kubeconfig.ts';

let dir: string;
let server: Server;
/** The headers of each request. */
let requests: Record<string, unknown>[];
let connections: number;
const before = { ...process.env };

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svc-kubeconfig-'));
  requests = [];
  connections = 0;
  server = createServer((request, response) => {
    requests.push(request.headers);
    response.end('{"major":"1"}');
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  process.env = { ...before };
  rmSync(dir, { recursive: true });
  await new Promise((resolve) => server.close(resolve));
});

const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const write = (name: string, text: string): string => {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const config = (user: object, cluster: object = { server: url(), 'insecure-skip-tls-verify': true }): string =>
  JSON.stringify({
    'current-context': 'one',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
  });
/** The headers of three requests of this user: two reads and a write. */
async function headersOf(user: object): Promise<Record<string, unknown>[]> {
  const client = createKubeClient({ kubeconfig: write('config', config(user)) });
  const { configMaps } = coreResources;
  await client.getPath('/version');
  await client.get(configMaps, { namespace: 'shop', name: 'a' });
  await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } });
  await client.close();
  return requests;
}

test.each<[string, object, object]>([
  ['a token', { token: 'abc' }, { authorization: 'Bearer abc' }],
  [
    'a password with a colon',
    { username: 'me', password: 'a:b' },
    { authorization: `Basic ${Buffer.from('me:a:b').toString('base64')}` },
  ],
  ['a user to impersonate', { token: 'abc', as: 'eve' }, { 'impersonate-user': 'eve' }],
])('%s is sent with every request', async (_what, user, headers) => {
  expect(await headersOf(user)).toMatchObject([headers, headers, headers]);
});

test('the option impersonate overrides the kubeconfig; namespace and token are those of the kubeconfig', async () => {
  const text = config({ token: 'abc', as: 'eve' }).replace('"user":"u"', '"user":"u","namespace":"shop"');
  const client = createKubeClient({ kubeconfig: write('config', text), impersonate: 'adam' });
  await client.getPath('/version');
  expect(requests.at(-1)).toMatchObject({ 'impersonate-user': 'adam', authorization: 'Bearer abc' });
  expect([client.namespace, await client.bearerToken()]).toEqual(['shop', 'abc']);
  await client.close();
  const other = createKubeClient({ kubeconfig: write('config', config({ username: 'me', password: 'x' })) });
  expect([other.namespace, await other.bearerToken()]).toEqual([undefined, undefined]);
});

test('the option impersonate is sent also where the context names no user, whatever the names of the others', async () => {
  const text = config({ token: 'abc' }).replace(',"user":"u"', '').replace('"name":"u"', '"name":"adam"');
  const client = createKubeClient({ kubeconfig: write('config', text), impersonate: 'adam' });
  await client.getPath('/version');
  expect(requests.at(-1)).toMatchObject({ 'impersonate-user': 'adam' });
  expect(requests.at(-1)).not.toHaveProperty('authorization');
  const settings = loadKubeSettings({ path: join(dir, 'config'), impersonate: 'adam' });
  const options: { headers?: Record<string, string> } = {};
  await fullConfig(settings).applyToHTTPSOptions(options);
  expect([currentUser(settings)?.impersonateUser, options.headers]).toEqual(['adam', { 'Impersonate-User': 'adam' }]);
  await client.close();
});

test('a relative token file is resolved against the folder of its kubeconfig', async () => {
  write('token', 'from-file\n');
  expect((await headersOf({ tokenFile: 'token' }))[0]).toMatchObject({ authorization: 'Bearer from-file' });
});

test.each([
  ['wins over a token beside it, as for kubectl', 'from-file\n', 'from-file'],
  ['that is empty leaves the token beside it in use', '\n', 'fixed'],
  ['that does not exist leaves the token beside it in use', undefined, 'fixed'],
])('a token file %s, for our requests and those of client-node', async (_what, text, expected) => {
  if (text !== undefined) write('token', text);
  const user = { token: 'fixed', tokenFile: 'token' };
  const authorization = `Bearer ${expected}`;
  expect((await headersOf(user))[0]).toMatchObject({ authorization });
  const options: { headers?: Record<string, string> } = {};
  await fullConfig(loadKubeSettings({ path: join(dir, 'config') })).applyToHTTPSOptions(options);
  expect(options.headers?.['Authorization']?.trim()).toBe(authorization);
});

test('the token of an exec plugin is sent', async () => {
  const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'asked' } };
  const exec = {
    apiVersion: answer.apiVersion,
    command: process.execPath,
    args: ['-e', `process.stdout.write(${JSON.stringify(JSON.stringify(answer))})`],
    interactiveMode: 'Never',
  };
  expect((await headersOf({ exec }))[0]).toMatchObject({ authorization: 'Bearer asked' });
});

test('several files are merged, and the first file that sets a value wins', () => {
  const first = write('a', config({ token: 'first' }));
  const second = write(
    'b',
    config({ token: 'second' }, { server: 'https://other', 'certificate-authority': 'ca.crt' }).replaceAll(
      'one',
      'two',
    ),
  );
  process.env['KUBECONFIG'] = [first, second].join(delimiter);
  const settings = loadKubeSettings();
  expect(currentUser(settings)?.token).toBe('first');
  expect(serverOf(settings)).toBe(url());
  // The second file adds the context `two`. Its cluster and user have names that the first file defines already.
  const two = loadKubeSettings({ context: 'two' });
  expect([currentUser(two)?.token, serverOf(two)]).toEqual(['first', url()]);
  expect(serverOf(loadKubeSettings({ path: second, context: 'two' }))).toBe('https://other');
  expect(currentCluster(loadKubeSettings({ path: second }))?.caFile).toBe(join(dir, 'ca.crt'));
});

test('a file of KUBECONFIG that does not exist is skipped, as by kubectl', () => {
  const there = write('there', config({ token: 'abc' }));
  process.env['KUBECONFIG'] = [join(dir, 'none'), there, join(dir, 'no-folder', 'none')].join(delimiter);
  expect(currentUser(loadKubeSettings())?.token).toBe('abc');
});

test('no other file takes the place of one that is missing while it is replaced', async () => {
  const clock = new FakeClock();
  const first = write('first', config({ token: 'first' }));
  const second = write('second', config({ token: 'second' }));
  process.env['KUBECONFIG'] = [first, second].join(delimiter);
  const client = createKubeClient({ clock });
  await client.getPath('/version');
  rmSync(first);
  await clock.advance(61_000);
  await client.getPath('/version');
  write('first', config({ token: 'replaced' }));
  await clock.advance(61_000);
  await client.getPath('/version');
  expect(requests.map(({ authorization }) => authorization)).toEqual([
    'Bearer first',
    'Bearer first',
    'Bearer replaced',
  ]);
  await client.close();
});

test('a client stays with the context and the server that it started with, and takes their new credentials', async () => {
  const clock = new FakeClock();
  const both = (current: string, token: string, server = url()): string =>
    JSON.stringify({
      'current-context': current,
      clusters: [
        { name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } },
        { name: 'd', cluster: { server: 'http://127.0.0.1:1', 'insecure-skip-tls-verify': true } },
      ],
      users: [
        { name: 'u', user: { token } },
        { name: 'v', user: { token: 'other' } },
      ],
      contexts: [
        { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'shop' } },
        { name: 'two', context: { cluster: 'd', user: 'v' } },
      ],
    });
  const client = createKubeClient({ kubeconfig: write('config', both('one', 'first')), clock });
  const sentNow = async (): Promise<unknown> => {
    await client.getPath('/version', { retry: false });
    return requests.at(-1)!['authorization'];
  };
  expect(await sentNow()).toBe('Bearer first');
  for (const [text, token] of [
    [both('two', 'second'), 'second'],
    // The context has disappeared, and appears again.
    [both('two', 'third').replace('"name":"one"', '"name":"three"'), 'second'],
    [both('two', 'fourth'), 'fourth'],
    // The context means another server: perhaps another cluster, and a token that is not for this one.
    [both('two', 'fifth', 'http://127.0.0.1:2'), 'fourth'],
    [both('one', 'sixth', `${url()}/`), 'sixth'],
  ] as const) {
    write('config', text);
    await clock.advance(61_000);
    expect([token, await sentNow()]).toEqual([token, `Bearer ${token}`]);
    expect([client.server, client.namespace]).toEqual([url(), 'shop']);
  }
  await client.close();
});

test('a half-written file that has lost the user of the context is not taken: requests would be anonymous', async () => {
  const clock = new FakeClock();
  const whole = config({ token: 'abc' });
  const client = createKubeClient({ kubeconfig: write('config', whole), clock });
  await client.getPath('/version');
  write('config', whole.replace('"name":"u"', '"name":"w"'));
  await clock.advance(61_000);
  await client.getPath('/version');
  expect(requests.map(({ authorization }) => authorization)).toEqual(['Bearer abc', 'Bearer abc']);
  await client.close();
});

test('a client that met a moment without its certificate files keeps the former ones, then uses the new ones', async () => {
  const clock = new FakeClock();
  const { cert, key } = await createCa({ commonName: 'me', now: Date.now() });
  // The token shows which of the two is in use.
  const user = (name: string): object => ({
    'client-certificate': `${name}.crt`,
    'client-key': `${name}.key`,
    token: name,
  });
  const files = (name: string): string[] => [write(`${name}.crt`, cert), write(`${name}.key`, key)];
  const old = files('a');
  const client = createKubeClient({ kubeconfig: write('config', config(user('a'))), clock });
  await client.getPath('/version');
  for (const file of old) rmSync(file);
  await clock.advance(61_000);
  await client.getPath('/version');
  files('b');
  write('config', config(user('b')));
  await clock.advance(1_001);
  await client.getPath('/version');
  expect(requests.map(({ authorization }) => authorization)).toEqual(['Bearer a', 'Bearer a', 'Bearer b']);
  await client.close();
});

test('a client that starts without its certificate files fails, and uses them at its next request', async () => {
  const { cert, key } = await createCa({ commonName: 'me', now: Date.now() });
  const user = { 'client-certificate': 'a.crt', 'client-key': 'a.key' };
  const client = createKubeClient({ kubeconfig: write('config', config(user)) });
  await expect(client.getPath('/version')).rejects.toMatchObject({ code: 'ERR_CONFIG_INVALID' });
  write('a.crt', cert);
  write('a.key', key);
  await client.getPath('/version');
  expect(requests).toHaveLength(1);
  await client.close();
});

test('client-node gets a copy of the same configuration', () => {
  const settings = loadKubeSettings({ path: write('config', config({ token: 'abc' })) });
  const full = fullConfig(settings);
  expect(full.getCurrentUser()).toMatchObject({ name: 'u', token: 'abc' });
  expect(full.getCurrentCluster()?.server).toBe(url());
  full.users = [];
  expect(settings.users).toHaveLength(1);
});

test.each<[string, () => unknown, RegExp]>([
  ['no configuration at all', () => loadKubeSettings(), /no KUBECONFIG, no ~\/\.kube\/config, and not inside/],
  [
    'a KUBECONFIG whose files do not exist',
    () => {
      write('.kube/config', config({ token: 'own' }));
      process.env['KUBECONFIG'] = join(dir, 'none');
      return loadKubeSettings();
    },
    /no file of KUBECONFIG exists \(.*none\), and not inside a cluster/,
  ],
  [
    'a KUBECONFIG with something other than a file',
    () => {
      process.env['KUBECONFIG'] = [dir, write('c', config({}))].join(delimiter);
      return loadKubeSettings();
    },
    /kubeconfig: .*EISDIR/,
  ],
  ['a file that is not there', () => loadKubeSettings({ path: join(dir, 'none') }), /kubeconfig: .*ENOENT/],
  ['an unknown context', () => loadKubeSettings({ path: write('c', config({})), context: 'x' }), /names no cluster/],
  [
    'a context whose user does not exist',
    () => loadKubeSettings({ path: write('c', config({}).replace('"name":"u"', '"name":"v"')) }),
    /the current context names the user u, which does not exist/,
  ],
  [
    'a user without a name',
    () => loadKubeSettings({ path: write('c', '{"users":[{}]}') }),
    /users\[0\]\.name is missing/,
  ],
])('refused, and the error gives the reason: %s', (_what, load, reason) => {
  delete process.env['KUBECONFIG'];
  delete process.env['KUBERNETES_SERVICE_HOST'];
  process.env['HOME'] = dir;
  expect(load).toThrow(reason);
});

test.each<[string, object, () => object, RegExp]>([
  ['plain http that is not allowed', {}, () => ({ server: url() }), /plain http needs insecure-skip-tls-verify/],
  [
    'an invalid certificate',
    { 'client-certificate-data': 'bm9uZQ==', 'client-key-data': 'bm9uZQ==' },
    () => ({ server: url().replace('http:', 'https:') }),
    /kubeconfig: certificates/,
  ],
])('%s is refused before anything is sent', async (_what, user, cluster, reason) => {
  const client = createKubeClient({ kubeconfig: write('config', config(user, cluster())) });
  await expect(client.getPath('/version')).rejects.toThrow(reason);
  expect(connections).toBe(0);
  await client.close();
});
