import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeEnvironment } from '../cluster/own-programs.ts';
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

test('a process that exits without stopping its stand-ins, as at a second Ctrl-C, leaves no file', () => {
  const temp = mkdtempSync(join(tmpdir(), 'svc-exit-'));
  const module = new URL('./outside-world.ts', import.meta.url).href;
  const script = `
    import { readdirSync } from 'node:fs';
    import { startOutsideWorld } from '${module}';
    const files = () => readdirSync('${temp}').length;
    const start = () => startOutsideWorld({ org: 'acme', repositories: ['gitops'] });
    await (await start()).stop();
    console.log(files(), process.listenerCount('exit'));
    await start();
    console.log(files(), process.listenerCount('exit'));
    process.exit();`;
  const env = nodeEnvironment({ TMPDIR: temp });
  const shown = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' });
  expect(shown).toBe('0 0\n1 1\n');
  expect(readdirSync(temp)).toEqual([]);
  rmSync(temp, { recursive: true });
}, 60_000);
