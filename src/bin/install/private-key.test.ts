import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { FakeKms, privatePem, testKey } from '../../testing/minter-world/index.ts';
import { importedKeyVersion, type ImportRequest } from './private-key.ts';

const key = 'projects/p/locations/global/keyRings/r/cryptoKeys/app';
const version = (n: number): string => `${key}/cryptoKeyVersions/${n}`;

let kms: FakeKms;
let dir: string;
let progress: string[];

beforeEach(async () => {
  kms = await FakeKms.start();
  dir = await mkdtemp(join(tmpdir(), 'pem-'));
  progress = [];
  await writeFile(join(dir, 'app.pem'), privatePem(testKey('app')));
});
afterEach(async () => {
  await kms.stop();
  await rm(dir, { recursive: true, force: true });
});

const run = (request: Partial<ImportRequest> = {}): Promise<string> =>
  importedKeyVersion(
    { pemPath: join(dir, 'app.pem'), key, dryRun: 'none', ...request },
    {
      clock: systemClock,
      progress: (line) => progress.push(line),
      env: { KMS_API_ENDPOINT: `localhost:${kms.port}` },
    },
  );

test('the key of the file is imported, and its version signs', async () => {
  expect(await run()).toBe(version(1));
  expect(kms.version(version(1))).toMatchObject({ state: 'ENABLED', algorithm: 'RSA_SIGN_PKCS1_2048_SHA256' });
  expect(progress).not.toEqual([]);
  expect(progress.join('\n')).not.toMatch(/BEGIN|MII/);
});

test('installing again imports nothing: the newest enabled version signs', async () => {
  await run();
  kms.addVersion(testKey('next'));
  expect(await run()).toBe(version(2));
  expect(kms.count('ImportCryptoKeyVersion')).toBe(1);
});

test('a version that the caller names signs, with a warning if it is not the newest enabled one', async () => {
  expect(await run({ key: version(1) })).toBe(version(1));
  expect(progress.join('\n')).not.toContain('warning');
  expect(await run({ key: version(7) })).toBe(version(7));
  expect(progress.at(-1)).toBe(
    `warning: KMS_KEY_VERSION names ${version(7)}, which will sign; the newest enabled version is ${version(1)}`,
  );
});

test('a server dry run only reads; a client dry run sends no request', async () => {
  expect(await run({ dryRun: 'server' })).toBe(version(1));
  expect(progress).toEqual([`would import a 2048-bit key as a new version of ${key}`]);
  expect(kms.rings.size).toBe(0);
  const asked = [...kms.calls.values()].reduce((a, b) => a + b, 0);
  expect(await run({ dryRun: 'client' })).toBe(version(1));
  expect([...kms.calls.values()].reduce((a, b) => a + b, 0)).toBe(asked);
});

test.each<[string, Partial<ImportRequest>, RegExp]>([
  ['a file that is not there', { pemPath: '/nowhere/app.pem' }, /^VCS_PEM_PATH: .*ENOENT/],
  ['no key to import into', { key: '' }, /^VCS_PEM_PATH needs KMS_KEY_VERSION/],
])('the report of %s names the variable', async (_what, request, said) => {
  await expect(run(request)).rejects.toThrow(said);
});
