import { createHash, sign } from 'node:crypto';
import { crc32c } from '../../base/wire/crc32c.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { publicPem } from '../../testing/fake-kms/key-store.ts';
import { testKey } from '../../testing/minter-world/keys.ts';
import { KeyMonitor } from './key-monitor.ts';
import { KeyServiceFailure, type KeyService } from './key-service.ts';
import { KmsSigner } from './kms-signer.ts';

const message = Buffer.from('svc-minter key probe');
const pem = publicPem(testKey('app'));
const signature = sign('sha256', message, testKey('app'));
const disabled = new KeyServiceFailure('failed_precondition', 'no', { state: 'DISABLED' });
const away = new KeyServiceFailure('unavailable', 'key service answered unavailable');

/** A key service that lets this identity only sign. */
class SignerOnly implements KeyService {
  failure: Error | undefined;
  signs = 0;
  onSign = (): void => {};

  describeVersion(): Promise<never> {
    return Promise.reject(new KeyServiceFailure('permission_denied', 'no'));
  }
  publicKey(name: string) {
    if (this.failure) return Promise.reject(this.failure);
    const pemCrc32c = crc32c(Buffer.from(pem));
    return Promise.resolve({ name, algorithm: 'RSA_SIGN_PKCS1_2048_SHA256', pem, pemCrc32c });
  }
  signDigest(name: string, digest: Uint8Array) {
    this.signs++;
    this.onSign();
    expect(Buffer.from(digest)).toEqual(createHash('sha256').update(message).digest());
    return Promise.resolve({ name, signature, signatureCrc32c: crc32c(signature), verifiedDigestCrc32c: true });
  }
  close = (): Promise<void> => Promise.resolve();
}

let clock: FakeClock;
let service: SignerOnly;
let monitor: KeyMonitor;
beforeEach(() => {
  clock = new FakeClock();
  service = new SignerOnly();
  monitor = new KeyMonitor(new KmsSigner({ service, version: 'v', clock }), clock);
});
const check = async (): Promise<string> => (await monitor.check()).reason;

test('with the right to sign only, a key that works is probed once a minute', async () => {
  expect([await check(), await check()]).toEqual(['Enabled', 'Enabled']);
  expect(service.signs).toBe(1);
  await clock.advance(60_000);
  expect(await check()).toBe('Enabled');
  expect(service.signs).toBe(2);
});

test('after a mint found the key unusable, the next check probes, also if a probe was under way', async () => {
  expect(await check()).toBe('Enabled');
  service.failure = disabled;
  monitor.doubt();
  expect(await check()).toBe('Disabled');
  service.failure = undefined;
  service.onSign = () => monitor.doubt();
  expect([await check(), service.signs]).toEqual(['Enabled', 2]);
  service.onSign = () => {};
  expect([await check(), service.signs]).toEqual(['Enabled', 3]);
  expect([await check(), service.signs]).toEqual(['Enabled', 3]);
});

test('an outage during a probe says nothing about the key', async () => {
  await check();
  service.failure = away;
  await clock.advance(60_000);
  expect(await monitor.check()).toEqual({
    status: 'Unknown',
    reason: 'KeyServiceUnreachable',
    message: 'key service answered unavailable',
  });
});

test('while the key service is away, a probe is made at every check until one succeeds', async () => {
  service.failure = away;
  await check();
  service.failure = undefined;
  expect(await check()).toBe('Enabled');
});
