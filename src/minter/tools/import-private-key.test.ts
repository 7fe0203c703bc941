import type { KeyManagementServiceClient } from '@google-cloud/kms';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { settle } from '../../testing/fake-clock.ts';
import { FakeKms } from '../../testing/fake-kms/fake-kms.ts';
import { privatePem, testKey } from '../../testing/minter-world/keys.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';
import { createKmsClient } from '../sign/kms-client.ts';
import { importPrivateKey, type ImportOptions, type ImportResult } from './import-private-key.ts';

let kms: FakeKms;
let client: KeyManagementServiceClient;
let progress: string[];
let clock: FlyingClock;

beforeEach(async () => {
  kms = await FakeKms.start();
  client = createKmsClient(kms.endpoint);
  progress = [];
  clock = new FlyingClock();
});

afterEach(async () => {
  await client.close();
  await kms.stop();
});

/** A clock on which every pause ends immediately and moves the clock by the length of the pause. */
class FlyingClock extends ShiftedClock {
  override setTimeout(fn: () => void, ms: number): () => void {
    this.shift(ms);
    void settle(1).then(fn);
    return () => {};
  }
}

const run = (options: Partial<ImportOptions> = {}): Promise<ImportResult> =>
  importPrivateKey(
    {
      projectId: 'p',
      location: 'global',
      keyRing: 'r',
      key: 'app',
      importJobPrefix: 'app-signing-key',
      privateKey: privatePem(testKey('app')),
      force: false,
      dryRun: false,
      ...options,
    },
    { client, clock, progress: (line) => progress.push(line) },
  );
const version = (n: number): string => `projects/p/locations/global/keyRings/r/cryptoKeys/app/cryptoKeyVersions/${n}`;

test.each([
  ['pkcs1', 2048],
  ['pkcs8', 2048],
  ['pkcs1', 3072],
  ['pkcs8', 4096],
] as const)('imports a %s PEM of %i bits; the service then holds exactly this key', async (type, bits) => {
  const key = testKey('import', bits);
  expect(await run({ privateKey: privatePem(key, type) })).toEqual({ outcome: 'imported', version: version(1) });
  const stored = kms.version(version(1));
  expect(stored).toMatchObject({ state: 'ENABLED', algorithm: `RSA_SIGN_PKCS1_${bits}_SHA256` });
  expect(createPublicKey(stored.key!).equals(createPublicKey(key))).toBe(true);
  expect(kms.keys.get(version(1).split('/cryptoKeyVersions')[0]!)).toMatchObject({
    importOnly: true,
    purpose: 'ASYMMETRIC_SIGN',
    protectionLevel: 'SOFTWARE',
  });
});

test('the bytes of the key are zeroed after the import, and the progress lines show nothing of the key', async () => {
  const privateKey = privatePem(testKey('app'));
  await run({ privateKey });
  expect(privateKey.every((byte) => byte === 0)).toBe(true);
  expect(progress.join('\n')).not.toMatch(/BEGIN|MII/);
});

test('a forced second import makes a second version with the same ring, key and job', async () => {
  await run();
  expect(await run({ force: true })).toEqual({ outcome: 'imported', version: version(2) });
  expect([kms.count('CreateKeyRing'), kms.count('CreateCryptoKey'), kms.count('CreateImportJob')]).toEqual([1, 1, 1]);
});

test('if several versions are enabled, nothing is imported and the newest is returned', async () => {
  await run();
  await run({ force: true });
  expect(await run()).toEqual({ outcome: 'skipped', version: version(2) });
});

test('an enabled version prevents an import unless forced; a disabled version does not', async () => {
  await run();
  expect(await run()).toEqual({ outcome: 'skipped', version: version(1) });
  kms.version(version(1)).state = 'DISABLED';
  expect(await run()).toEqual({ outcome: 'imported', version: version(2) });
});

test('a dry run changes nothing', async () => {
  expect(await run({ dryRun: true })).toEqual({ outcome: 'would-import' });
  expect([kms.rings.size, kms.keys.size, kms.jobs.size]).toEqual([0, 0, 0]);
});

test('an import job that has expired is not used again', async () => {
  await run();
  for (const job of kms.jobs.values()) job.state = 'EXPIRED';
  clock.shift(3 * 86_400_000);
  expect((await run({ force: true })).outcome).toBe('imported');
  expect(kms.jobs.size).toBe(2);
});

test('waits until the import job and then the key version are ready, and says what it waits for', async () => {
  kms.faults = { jobPendingReads: 3, versionPendingReads: 3 };
  expect((await run()).outcome).toBe('imported');
  expect(progress.join('\n')).toMatch(/PENDING_GENERATION[\s\S]*PENDING_IMPORT/);
});

test('gives up after waiting two minutes for the import job', async () => {
  kms.faults = { jobPendingReads: 10_000 };
  const started = clock.monotonic();
  await expect(run()).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  const waited = (clock.monotonic() - started) / 1_000;
  expect(waited).toBeGreaterThan(110);
  expect(waited).toBeLessThan(130);
});

test('reports the reason of a failed import', async () => {
  kms.faults = { importFails: 'the wrapped key is malformed' };
  await expect(run()).rejects.toMatchObject({
    code: 'ERR_MINTER_UPSTREAM',
    message: expect.stringContaining('the wrapped key is malformed') as string,
  });
});

test('a key of another purpose under the same name is refused', async () => {
  kms.addVersion(testKey('app'));
  kms.keys.values().next().value!.purpose = 'ASYMMETRIC_DECRYPT';
  await expect(run()).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
});

test('a refusal by the service is reported', async () => {
  kms.faults = { status: { code: 7, message: 'Permission denied on ring' } };
  await expect(run()).rejects.toMatchObject({ code: 'ERR_MINTER_UPSTREAM' });
});

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
test.each<[sentence: string, change: Partial<ImportOptions>, message: RegExp]>([
  ['text that is not PEM', { privateKey: Buffer.from('SECRET') }, /not a PEM/],
  ['an elliptic key', { privateKey: Buffer.from(ec) }, /must be RSA/],
  ['a key of 1024 bits', { privateKey: privatePem(testKey('small', 1024)) }, /2048, 3072 or 4096/],
  ['a missing project', { projectId: '' }, /-project-id/],
  ['a ring with a path in it', { keyRing: '../x' }, /-key-ring/],
  ['a location in upper case', { location: 'GLOBAL' }, /-location/],
])('refuses %s before any call', async (_sentence, change, message) => {
  const attempt = run(change);
  await expect(attempt).rejects.toThrow(message);
  await expect(attempt).rejects.not.toThrow('SECRET');
  expect(kms.calls.size).toBe(0);
});
