import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { silentLogger } from '../../../base/logger.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../../net/ca.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { Access, type AccessReviews } from './access.ts';
import { userByCertificate } from './authenticate.ts';
import { ClientCas, readAuthenticationConfig } from './client-ca.ts';

const now = Date.now();
const headers = {
  'x-remote-user': ['system:serviceaccount:kube-system:horizontal-pod-autoscaler'],
  'x-remote-group': ['system:serviceaccounts', 'system:authenticated'],
  'x-remote-uid': ['42'],
  'x-remote-extra-example.com%2fscope': ['a', 'b'],
};

let frontProxyCa: KeyPairPem;
let clientCa: KeyPairPem;
let cas: ClientCas;
const data = (change: Record<string, string> = {}): Record<string, string> => ({
  'client-ca-file': clientCa.cert,
  'requestheader-client-ca-file': frontProxyCa.cert,
  'requestheader-allowed-names': '["front-proxy-client"]',
  'requestheader-username-headers': '["X-Remote-User"]',
  'requestheader-uid-headers': '["X-Remote-Uid"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  ...change,
});
const chain = async (ca: KeyPairPem, commonName: string): Promise<X509Certificate[]> => [
  new X509Certificate((await issueLeaf(ca, { commonName, dnsNames: [] }, { now })).cert),
];

beforeAll(async () => {
  frontProxyCa = await createCa({ commonName: 'front-proxy-ca', now });
  clientCa = await createCa({ commonName: 'client-ca', now });
});
beforeEach(() => {
  cas = new ClientCas();
  cas.set(readAuthenticationConfig(data()));
});

test('the headers of the front proxy name the user', async () => {
  expect(userByCertificate(headers, await chain(frontProxyCa, 'front-proxy-client'), cas.config, now)).toEqual({
    username: 'system:serviceaccount:kube-system:horizontal-pod-autoscaler',
    groups: ['system:serviceaccounts', 'system:authenticated'],
    uid: '42',
    extra: { 'example.com/scope': ['a', 'b'] },
  });
});

test.each([
  [{ 'x-remote-user': ['system:aggregator'] }, ['system:authenticated']],
  [{ 'x-remote-user': ['ann'], 'x-remote-group': ['team'] }, ['team', 'system:authenticated']],
  [{ 'x-remote-user': ['system:anonymous'], 'x-remote-group': ['system:unauthenticated'] }, ['system:unauthenticated']],
])('every user of the front proxy except the anonymous one is in system:authenticated: %p', async (given, groups) => {
  const user = userByCertificate(given, await chain(frontProxyCa, 'front-proxy-client'), cas.config, now);
  expect(user?.groups).toEqual(groups);
});

test('user headers are ignored if the client certificate has another name or another CA', async () => {
  expect(userByCertificate(headers, await chain(frontProxyCa, 'somebody'), cas.config, now)).toBeUndefined();
  expect(userByCertificate(headers, await chain(clientCa, 'front-proxy-client'), cas.config, now)).toEqual({
    username: 'front-proxy-client',
    groups: ['system:authenticated'],
  });
  expect(userByCertificate(headers, [], cas.config, now)).toBeUndefined();
});

test('headers of the front proxy are UTF-8; a text that is not stays as it is', async () => {
  // Node's parser reads the bytes of a header as latin1.
  const sent = (text: string): string => Buffer.from(text).toString('latin1');
  const given = {
    'x-remote-user': [sent('jürgen')],
    'x-remote-uid': [sent('№ 42')],
    'x-remote-group': [sent('équipe'), 'caf\xe9', 'team'],
    'x-remote-extra-example.com%2f%c3%bcber': [sent('ß'), 'a'],
  };
  expect(userByCertificate(given, await chain(frontProxyCa, 'front-proxy-client'), cas.config, now)).toEqual({
    username: 'jürgen',
    uid: '№ 42',
    groups: ['équipe', 'caf\xe9', 'team', 'system:authenticated'],
    extra: { 'example.com/über': ['ß', 'a'] },
  });
});

test('an empty list of allowed names allows every name', async () => {
  cas.set(readAuthenticationConfig(data({ 'requestheader-allowed-names': '[]' })));
  const user = userByCertificate(headers, await chain(frontProxyCa, 'anything'), cas.config, now);
  expect(user?.uid).toBe('42');
});

test('an expired client certificate authenticates no user', async () => {
  const certificates = await chain(frontProxyCa, 'front-proxy-client');
  expect(userByCertificate(headers, certificates, cas.config, now + 400 * 24 * 3_600_000)).toBeUndefined();
});

test('while two front-proxy CAs overlap, certificates of both are accepted', async () => {
  const next = await createCa({ commonName: 'front-proxy-ca', now });
  let told = 0;
  cas.onChange(() => told++);
  cas.set(readAuthenticationConfig(data({ 'requestheader-client-ca-file': `${frontProxyCa.cert}\n${next.cert}` })));
  expect([told, cas.ca.split('BEGIN CERTIFICATE').length - 1]).toEqual([1, 3]);
  for (const ca of [frontProxyCa, next]) {
    expect(userByCertificate(headers, await chain(ca, 'front-proxy-client'), cas.config, now)?.uid).toBe('42');
  }
});

test('a configuration that cannot be read is refused', () => {
  expect(() => readAuthenticationConfig(data({ 'requestheader-allowed-names': '{}' }))).toThrow(/allowed-names/);
});

describe('reviews', () => {
  const request = (authorization?: string): IncomingMessage =>
    ({ headers: { authorization }, headersDistinct: {}, socket: {} }) as unknown as IncomingMessage;
  const wish = {
    group: 'custom.metrics.k8s.io',
    version: 'v1beta2',
    resource: 'pods',
    subresource: 'm',
    namespace: 'shop',
    name: '*',
    verb: 'get',
  } as const;
  let asked: unknown[];
  let allowed: boolean;
  let broken: boolean;
  let clock: FakeClock;
  let access: Access;
  beforeEach(() => {
    [asked, allowed, broken, clock] = [[], true, false, new FakeClock()];
    const answer = async (...parts: unknown[]): Promise<boolean> => {
      asked.push(parts);
      if (broken) throw new Error('away');
      return allowed;
    };
    const reviews: AccessReviews = {
      reviewToken: async (token) => (token === 'good' ? { username: 'jane' } : undefined),
      mayAccessPath: (user, verb, path) => answer(user.username, verb, path),
      mayAccessResource: (user, attributes) => answer(user.username, attributes),
    };
    access = new Access({ reviews, cas, clock, logger: silentLogger });
  });

  test('a bearer token is reviewed, a bad one gives 401, and a request without one is anonymous', async () => {
    expect(await access.user(request('Bearer good'))).toEqual({ username: 'jane' });
    await expect(access.user(request('Bearer bad'))).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' });
    expect(await access.user(request())).toMatchObject({ username: 'system:anonymous' });
  });

  test('an anonymous caller whom nothing allows loses its connection, and one with a name keeps it', async () => {
    allowed = false;
    const anonymous = await access.user(request());
    await expect(access.check(anonymous, wish)).rejects.toMatchObject({ code: 403, closes: true });
    await expect(access.check({ username: 'jane' }, wish)).rejects.toMatchObject({ code: 403, closes: false });
  });

  test('an allowed and a denied review are cached for ten seconds; a failed one is not', async () => {
    await access.check({ username: 'jane' }, wish);
    allowed = false;
    await access.check({ username: 'jane' }, wish);
    expect(asked).toEqual([['jane', wish]]);
    await clock.advance(10_001);
    const refusal = `pods.custom.metrics.k8s.io "*" is forbidden: User "jane" cannot get resource "pods/m" in API group "custom.metrics.k8s.io" in the namespace "shop"`;
    await expect(access.check({ username: 'jane' }, wish)).rejects.toMatchObject({ code: 403, message: refusal });
    allowed = true;
    await expect(access.check({ username: 'jane' }, wish)).rejects.toMatchObject({ code: 403 });
    expect(asked).toHaveLength(2);
    broken = true;
    await expect(access.check({ username: 'joe' }, wish)).rejects.toMatchObject({ code: 500 });
    broken = false;
    await access.check({ username: 'joe' }, wish);
    await access.check({ username: 'joe' }, { path: '/apis' });
    expect(asked.at(-1)).toEqual(['joe', 'get', '/apis']);
  });
});
