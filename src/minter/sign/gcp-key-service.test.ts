import type { KeyManagementServiceClient } from '@google-cloud/kms';
import { systemClock } from '../../base/clock.ts';
import { GcpKeyService } from './gcp-key-service.ts';

const version = 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';
const client = (initialize: () => Promise<unknown>): KeyManagementServiceClient =>
  ({
    initialize,
    getCryptoKeyVersion: () => Promise.resolve([{ name: version, state: 'ENABLED', algorithm: 'A' }]),
    close: () => Promise.resolve(),
  }) as unknown as KeyManagementServiceClient;

test('a client that found no credentials is created again at the next call', async () => {
  let made = 0;
  const service = new GcpKeyService(
    () => client(() => (made++ === 0 ? Promise.reject(new Error('no default credentials')) : Promise.resolve())),
    systemClock,
  );
  await expect(service.describeVersion(version, 1_000)).rejects.toMatchObject({ kind: 'other' });
  expect(await service.describeVersion(version, 1_000)).toMatchObject({ state: 'ENABLED' });
  await service.describeVersion(version, 1_000);
  expect(made).toBe(2);
});

test('a call fails at its deadline when the client never gets ready', async () => {
  const service = new GcpKeyService(() => client(() => new Promise(() => {})), systemClock);
  await expect(service.describeVersion(version, 20)).rejects.toMatchObject({ kind: 'deadline' });
});
