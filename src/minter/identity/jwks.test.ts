import { generateKeyPairSync } from 'node:crypto';
import { createLogger } from '../../base/logger.ts';
import { FakeIssuer, type JwksFault } from '../../testing/fake-issuer/fake-issuer.ts';
import { testKey } from '../../testing/minter-world/keys.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';
import { until } from '../../testing/until.ts';
import { Refusal } from '../refusal.ts';
import { Jwks } from './jwks.ts';

let issuer: FakeIssuer;
let clock: ShiftedClock;
let jwks: Jwks;
let logged: string[];

beforeEach(async () => {
  clock = new ShiftedClock();
  issuer = await FakeIssuer.start({ keys: [testKey('issuer')] });
  logged = [];
  jwks = new Jwks({ uri: issuer.jwksUri, clock, logger: createLogger({ write: (line) => void logged.push(line) }) });
});

afterEach(() => issuer.stop());

const outcome = async (kid = 'key-1'): Promise<string> =>
  jwks.find(kid).then(
    () => 'found',
    (error: unknown) => (error instanceof Refusal ? error.answer : `bug: ${String(error)}`),
  );
const set = (...keys: unknown[]): JwksFault => ({ body: JSON.stringify({ keys }) });
/** The modulus of a key, with this many zero bytes in front. */
const padded = (bits: number, zeros: number): string => {
  const { n } = testKey('other', bits).export({ format: 'jwk' });
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(n!, 'base64url')]).toString('base64url');
};
const publicJwk = (bits = 2048, more: object = {}): object => {
  const { n, e } = testKey('other', bits).export({ format: 'jwk' });
  return { kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'key-1', n, e, ...more };
};

test.each<[sentence: string, fault: JwksFault, expected: string]>([
  ['an answer of 500 leaves no keys: 503', { status: 500 }, 'issuer_keys_unavailable'],
  ['a page instead of keys: 503', { body: '<html>', contentType: 'text/html' }, 'issuer_keys_unavailable'],
  ['keys as text/plain: 503', { body: '{"keys":[]}', contentType: 'text/plain' }, 'issuer_keys_unavailable'],
  ['broken JSON: 503', { body: '{"keys":' }, 'issuer_keys_unavailable'],
  ['keys that are not a list: 503', { body: '{"keys":{}}' }, 'issuer_keys_unavailable'],
  ['two sets of keys in one answer: 503', { body: '{"keys":[],"keys":[]}' }, 'issuer_keys_unavailable'],
  ['an empty set: 401', set(), 'invalid_token'],
  ['only a symmetric key: 401', set({ kty: 'oct', kid: 'key-1', k: 'AAAA' }), 'invalid_token'],
  ['an elliptic key: 401', set({ kty: 'EC', crv: 'P-256', kid: 'key-1', x: 'AA', y: 'AA' }), 'invalid_token'],
  ['a key for encryption: 401', set(publicJwk(2048, { use: 'enc' })), 'invalid_token'],
  ['a key for another algorithm: 401', set(publicJwk(2048, { alg: 'RS512' })), 'invalid_token'],
  ['a key that may only sign: 401', set(publicJwk(2048, { key_ops: ['sign'] })), 'invalid_token'],
  ['a private key: 401', set(publicJwk(2048, { d: 'AAAA' })), 'invalid_token'],
  ['an exponent of 3: 401', set(publicJwk(2048, { e: 'Aw' })), 'invalid_token'],
  ['an exponent of 3 with zero bytes in front: 401', set(publicJwk(2048, { e: 'AAAD' })), 'invalid_token'],
  ['a key without kid: 401', set(publicJwk(2048, { kid: undefined })), 'invalid_token'],
  ['one kid for two keys: 401', set(publicJwk(), publicJwk()), 'invalid_token'],
  ['a key of 1024 bits: 401', set(publicJwk(1024)), 'invalid_token'],
  ['a key of 1024 bits with zero bytes in front: 401', set(publicJwk(1024, { n: padded(1024, 130) })), 'invalid_token'],
  ['a good key with a zero byte in front: found', set(publicJwk(2048, { n: padded(2048, 1) })), 'found'],
  ['a good key among bad ones: found', set({ kty: 'oct' }, null, 7, publicJwk()), 'found'],
])('before any good key set was read, %s', async (_sentence, fault, expected) => {
  issuer.fault = fault;
  expect(await outcome()).toBe(expected);
});

test('a redirect to a good set is not followed: 503', async () => {
  const other = await FakeIssuer.start({ keys: [testKey('issuer')] });
  issuer.fault = { status: 302, headers: { location: other.jwksUri } };
  expect([await outcome(), other.hits]).toEqual(['issuer_keys_unavailable', 0]);
  await other.stop();
});

test('an endless set is cut off at the size cap: 503', async () => {
  issuer.fault = { body: ' '.repeat(65_536), endless: true };
  expect(await outcome()).toBe('issuer_keys_unavailable');
  expect(logged.join('')).toMatch(/larger than 262144 bytes/);
});

test('a hanging issuer costs two seconds once; during the back-off, callers get 503 immediately', async () => {
  issuer.fault = { hang: true };
  const start = performance.now();
  expect(await Promise.all([outcome(), outcome(), outcome()])).toEqual(Array(3).fill('issuer_keys_unavailable'));
  expect(performance.now() - start).toBeLessThan(2_600);
  expect(await outcome()).toBe('issuer_keys_unavailable');
  expect(issuer.hits).toBe(1);
  issuer.fault = undefined;
  clock.shift(1_100);
  expect(await outcome()).toBe('found');
});

test('a hundred concurrent callers cause one fetch', async () => {
  await Promise.all(Array.from({ length: 100 }, () => outcome()));
  expect(issuer.hits).toBe(1);
});

test('the last good set serves for an hour while refreshes fail, and no longer', async () => {
  expect(await outcome()).toBe('found');
  issuer.fault = { status: 500 };
  clock.shift(30 * 60_000);
  expect(await outcome()).toBe('found');
  clock.shift(29 * 60_000);
  expect(await outcome()).toBe('found');
  clock.shift(2 * 60_000);
  expect(await outcome()).toBe('issuer_keys_unavailable');
});

test('a set without a usable key never replaces a good one', async () => {
  expect(await outcome()).toBe('found');
  issuer.fault = set();
  clock.shift(11 * 60_000);
  expect(await outcome('none')).toBe('invalid_token');
  expect(issuer.hits).toBe(2);
  expect(await outcome()).toBe('found');
});

test.each<[string, () => Promise<unknown>]>([
  ['before any good set was read', async () => {}],
  ['when the last good set has expired', () => outcome()],
])('an answer without a usable key gives 401, an outage after it 503, %s', async (_when, before) => {
  await before();
  issuer.fault = set();
  clock.shift(11 * 60_000);
  expect(await outcome('none')).toBe('invalid_token');
  issuer.fault = { status: 500 };
  clock.shift(60 * 60_000);
  expect(await outcome()).toBe('issuer_keys_unavailable');
});

test('unknown key ids cause at most one fetch in thirty seconds', async () => {
  expect(await outcome()).toBe('found');
  for (let i = 0; i < 50; i++) expect(await outcome(`nobody-${i}`)).toBe('invalid_token');
  expect(issuer.hits).toBe(1);
  clock.shift(31_000);
  await Promise.all(Array.from({ length: 20 }, (_, i) => outcome(`nobody-${i}`)));
  expect(issuer.hits).toBe(2);
});

test('a rotated key is found at its first use once the cool-down is over', async () => {
  expect(await outcome()).toBe('found');
  issuer.rotate(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, { kid: 'key-2', keepOld: true });
  expect(await outcome('key-2')).toBe('invalid_token');
  clock.shift(31_000);
  expect(await outcome('key-2')).toBe('found');
  expect(await outcome('key-1')).toBe('found');
});

test('a key that the issuer began to use during an outage is found a second after it; until then its tokens get 503', async () => {
  expect(await outcome()).toBe('found');
  issuer.rotate(testKey('other'), { kid: 'key-2', keepOld: true });
  issuer.fault = { status: 500 };
  clock.shift(31_000);
  expect([await outcome('key-2'), await outcome('key-1')]).toEqual(['issuer_keys_unavailable', 'found']);
  issuer.fault = undefined;
  expect([await outcome('key-2'), issuer.hits]).toEqual(['issuer_keys_unavailable', 2]);
  clock.shift(1_100);
  expect(await outcome('key-2')).toBe('found');
});

test('unknown key ids cause at most one fetch in thirty seconds also while the issuer answers without a usable key', async () => {
  expect(await outcome()).toBe('found');
  issuer.fault = set();
  clock.shift(31_000);
  expect([await outcome('nobody'), issuer.hits]).toEqual(['invalid_token', 2]);
  clock.shift(29_000);
  expect([await outcome('nobody'), issuer.hits]).toEqual(['invalid_token', 2]);
});

test('a key that the issuer withdrew is gone after ten minutes', async () => {
  expect(await outcome()).toBe('found');
  issuer.rotate(testKey('other'), { kid: 'key-2', keepOld: false });
  clock.shift(10 * 60_000 + 1);
  expect(await Promise.all([outcome('key-1'), outcome('key-2')])).toEqual(['invalid_token', 'found']);
  expect(issuer.hits).toBe(2);
});

test('from nine minutes on the set is fetched again while requests still use it', async () => {
  expect(await outcome()).toBe('found');
  issuer.fault = { hang: true };
  clock.shift(9 * 60_000 + 1);
  expect(await outcome()).toBe('found');
  await until('the fetch ahead', () => issuer.hits === 2);
});

test('a hanging issuer holds up the users of a set older than ten minutes once in 30 s; meanwhile they use it at once', async () => {
  expect(await outcome()).toBe('found');
  issuer.fault = { hang: true };
  clock.shift(11 * 60_000);
  const start = performance.now();
  expect(await Promise.all([outcome(), outcome()])).toEqual(['found', 'found']);
  expect(performance.now() - start).toBeLessThan(3_900);
  expect([await outcome(), issuer.hits]).toEqual(['found', 2]);
  // After the back-off, requests fetch again, but do not wait for the answer.
  clock.shift(1_100);
  const again = performance.now();
  expect(await outcome()).toBe('found');
  expect(performance.now() - again).toBeLessThan(1_500);
  await until('the next fetch', () => issuer.hits === 3);
});

test('users of a set older than ten minutes wait for the next one again 30 s after a failed fetch', async () => {
  expect(await outcome()).toBe('found');
  clock.shift(11 * 60_000);
  issuer.fault = { status: 500 };
  expect(await outcome()).toBe('found');
  issuer.fault = set(publicJwk(2048, { kid: 'key-2' }));
  clock.shift(30_000);
  expect(await outcome()).toBe('invalid_token');
});
