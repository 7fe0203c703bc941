import { aborted } from '../../../base/aborted.ts';
import { silentLogger } from '../../../base/logger.ts';
import { OperatorError } from '../../../base/errors.ts';
import { maxCaptureBytes } from '../../../capture/index.ts';
import { ApiError } from '../../../kube/index.ts';
import { FakeClock, settle } from '../../../testing/fake-clock.ts';
import { until } from '../../../testing/until.ts';
import { ExportSecretStore } from './export-secrets.ts';

/** A store over these values. Reads in the namespace `slow` end only with their time limit. */
function aStore(values: Map<string, { text: string; version: string } | Error>) {
  const clock = new FakeClock();
  let changes = 0;
  let reads = 0;
  const store = new ExportSecretStore({
    clock,
    logger: silentLogger,
    onChange: () => changes++,
    read: ({ namespace, name, key }, signal) => {
      reads++;
      if (namespace === 'slow') return aborted(signal).then(() => Promise.reject(signal.reason));
      const value = values.get(`${namespace}/${name}/${key}`);
      if (value instanceof Error) return Promise.reject(value);
      return Promise.resolve(value ?? null);
    },
  });
  return { store, clock, changes: () => changes, reads: () => reads };
}

test('Secrets that exports refer to are read, delivered by name, and read again periodically', async () => {
  const values = new Map([['shop/s/token', { text: 'one', version: '1' }]]);
  const { store, clock, changes } = aStore(values);
  store.want(['shop/s/token']);
  await until('the first read', () => changes() === 1);
  const first = store.deliveryFor(['shop/s/token']).body;
  expect(first.secrets).toEqual({ 'shop/s/token': 'one' });
  values.set('shop/s/token', { text: 'two', version: '2' });
  await clock.advance(31_000);
  await until('the second read', () => changes() === 2);
  const second = store.deliveryFor(['shop/s/token']).body;
  expect(second.secrets).toEqual({ 'shop/s/token': 'two' });
  expect(second.revision).not.toBe(first.revision);
  store.stop();
});

test('a missing key is reported as missing, and an unreachable API server changes nothing', async () => {
  const values = new Map<string, { text: string; version: string } | Error>([
    ['shop/a/k', new OperatorError('ERR_API_NOT_FOUND', 'no')],
    ['shop/b/k', { text: 'b', version: '1' }],
  ]);
  const { store, clock, changes, reads } = aStore(values);
  store.want(['shop/a/k', 'shop/b/k', 'shop/c/k']);
  await until('the first read', () => changes() === 1);
  expect(['shop/a/k', 'shop/b/k', 'shop/c/k'].map((ref) => store.absence(ref))).toEqual([
    'missing',
    undefined,
    'missing',
  ]);
  values.set('shop/b/k', new OperatorError('ERR_API_REQUEST', 'away'));
  expect(reads()).toBe(3);
  await clock.advance(31_000);
  await until('the second read', () => reads() === 6);
  await settle();
  expect(changes()).toBe(1);
  expect(store.absence('shop/b/k')).toBeUndefined();
  expect(store.deliveryFor(['shop/b/k']).body.secrets).toEqual({ 'shop/b/k': 'b' });
  store.stop();
});

const forbidden = new ApiError('ERR_API_REQUEST', 'forbidden', { status: 403, reason: 'Forbidden' });

test('a Secret that may no longer be read is no longer used', async () => {
  const values = new Map<string, { text: string; version: string } | Error>([
    ['shop/s/k', { text: 's', version: '1' }],
  ]);
  const { store, clock, changes } = aStore(values);
  store.want(['shop/s/k']);
  await until('the first read', () => changes() === 1);
  values.set('shop/s/k', forbidden);
  await clock.advance(31_000);
  await until('the refusal', () => changes() === 2);
  expect(store.absence('shop/s/k')).toBe('forbidden');
  expect(store.deliveryFor(['shop/s/k']).body.secrets).toEqual({});
  store.stop();
});

test('Secrets of one namespace that exceed the size of a delivery take no room from those of others', async () => {
  const many = Array.from({ length: 600 }, (_, i) => `big/s${i}/k`);
  const few = ['shop/s/k', 'shop/t/k'];
  const values = new Map([...many, ...few].map((ref) => [ref, { text: '"'.repeat(16_000), version: ref }]));
  const { store, changes } = aStore(values);
  store.want([...many, ...few]);
  await until('the first read', () => changes() === 1);
  const { revision, secrets } = store.deliveryFor([...many, ...few]).body;
  expect(Object.keys(secrets)).toEqual(expect.arrayContaining(few));
  const bytes = Buffer.byteLength(JSON.stringify({ revision, secrets }));
  expect(bytes).toBeLessThanOrEqual(maxCaptureBytes);
  expect(bytes).toBeGreaterThan(maxCaptureBytes - 64_000);
  expect(Object.keys(store.deliveryFor(few).body.secrets)).toEqual(few);
  store.stop();
});

const away = new OperatorError('ERR_API_REQUEST', 'away');

test('a delivery is whole once each of its Secrets was read or is known to be absent', async () => {
  const values = new Map<string, { text: string; version: string } | Error>([
    ['shop/a/k', { text: 'a', version: '1' }],
    ['shop/b/k', away],
  ]);
  const refs = ['shop/a/k', 'shop/b/k', 'shop/missing/k'];
  const { store, clock, changes, reads } = aStore(values);
  expect(store.deliveryFor(refs).isWhole).toBe(false);
  store.want(refs);
  await until('the first read', () => changes() === 1);
  expect(store.deliveryFor(refs)).toMatchObject({ isWhole: false, body: { secrets: { 'shop/a/k': 'a' } } });
  expect(store.deliveryFor(['shop/a/k', 'shop/missing/k']).isWhole).toBe(true);
  values.set('shop/b/k', { text: 'b', version: '1' });
  await clock.advance(1_000);
  await until('the second read', () => changes() === 2);
  expect(store.deliveryFor(refs)).toMatchObject({
    isWhole: true,
    body: { secrets: { 'shop/a/k': 'a', 'shop/b/k': 'b' } },
  });
  // The second reading was only of what the first one had left open.
  expect(reads()).toBe(4);
  store.stop();
});

test.each([
  ['is given up after ten minutes if another was read', { text: 'a', version: '1' }, 'unreadable'],
  ['is given up after ten minutes if another is missing', undefined, 'unreadable'],
  ['is given up after ten minutes if another is too long', { text: 'a'.repeat(16_385), version: '1' }, 'unreadable'],
  ['is waited for as long as none may be read', forbidden, undefined],
  ['is waited for as long as none can be read', away, undefined],
])('a Secret that the API server does not return %s', async (_sentence, other, absence) => {
  const values = new Map<string, { text: string; version: string } | Error>([['shop/b/k', away]]);
  if (other) values.set('shop/a/k', other);
  const { store, clock, reads } = aStore(values);
  store.want(['shop/a/k', 'shop/b/k']);
  await until('the first read', () => reads() === 2);
  await settle();
  for (let i = 0; i < 19; i++) {
    await clock.advance(30_000);
    await settle();
  }
  const whole = (): boolean => store.deliveryFor(['shop/a/k', 'shop/b/k']).isWhole;
  expect([store.absence('shop/b/k'), whole()]).toEqual([undefined, false]);
  await clock.advance(31_000);
  await settle();
  expect([store.absence('shop/b/k'), whole()]).toEqual([absence, absence !== undefined]);
  values.set('shop/b/k', { text: 'b', version: '1' });
  await clock.advance(31_000);
  await settle();
  expect(store.deliveryFor(['shop/b/k'])).toMatchObject({ isWhole: true, body: { secrets: { 'shop/b/k': 'b' } } });
  store.stop();
});

test('values are told while other Secrets are still waited for', async () => {
  const values = new Map([['shop/a/k', { text: 'a', version: '1' }]]);
  const { store, clock, changes, reads } = aStore(values);
  store.want(['shop/a/k', 'slow/b/k', 'slow/c/k']);
  await until('the first slow read', () => reads() === 2);
  await clock.advance(10_000);
  await until('the second slow read', () => reads() === 3);
  expect(changes()).toBe(1);
  expect(store.deliveryFor(['shop/a/k']).body.secrets).toEqual({ 'shop/a/k': 'a' });
  store.stop();
});
