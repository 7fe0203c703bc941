import { FakeKms } from '../../testing/fake-kms/fake-kms.ts';
import { createKmsClient } from './kms-client.ts';

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

test.each(['grpc_proxy', 'https_proxy', 'http_proxy'])(
  'a key service on loopback is asked directly, also if %s names a proxy',
  async (variable) => {
    for (const name of ['no_grpc_proxy', 'no_proxy', 'NO_PROXY']) delete process.env[name];
    process.env[variable] = 'http://127.0.0.1:9';
    const kms = await FakeKms.start();
    const client = createKmsClient(kms.endpoint);
    const name = 'projects/p/locations/global/keyRings/r/cryptoKeys/none';
    const notFound = 5;
    await expect(client.getCryptoKey({ name }, { timeout: 5_000 })).rejects.toMatchObject({ code: notFound });
    await client.close();
    await kms.stop();
  },
  20_000,
);
