import { startOutsideWorld } from './outside-world.ts';

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

test.each([
  ['http_proxy', 'http://127.0.0.1:9'],
  ['NODE_OPTIONS', '--require=/none.cjs'],
])(
  'the import of the key does not depend on the variable %s of the user',
  async (variable, value) => {
    process.env[variable] = value;
    const world = await startOutsideWorld({ org: 'acme', repositories: ['gitops'] });
    expect(world.keyVersion).toMatch(/\/keyRings\/minter\/cryptoKeys\/app\/cryptoKeyVersions\/1$/);
    await world.stop();
  },
  60_000,
);
