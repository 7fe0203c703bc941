import { readSettings } from '../../base/settings.ts';
import { systemClock } from '../../base/clock.ts';
import { startMinterWorld, type MinterWorld } from '../../testing/minter-world/world.ts';
import { until } from '../../testing/until.ts';
import { checkSettingTable } from '../setting-table.ts';
import { checkApp } from './check-app.ts';

/** The tool with the real client of a key service, against a fake platform that verifies signatures. */

let world: MinterWorld;
beforeAll(async () => {
  // At its first call, the client of the key service loads its code. On a busy machine that takes longer than a call
  // may take.
  world = await startMinterWorld();
  await until('a first check', async () => (await check()).code === 0);
  await world.stop();
});
beforeEach(async () => {
  world = await startMinterWorld();
});
afterEach(() => world.stop());

async function check(env: Record<string, string> = {}): Promise<{ code: number; out: string }> {
  let out = '';
  const write = (text: string): void => void (out += text);
  const values = readSettings(checkSettingTable, { flags: {}, env: { ...world.env, ...env }, prefix: '' });
  const code = await checkApp(values, { env: {}, stdout: write, stderr: write, clock: systemClock });
  return { code, out };
}

test('reports key, App and installation, and ends with 0 when a token could be minted', async () => {
  const { code, out } = await check();
  expect(out).toMatch(/^key: Enabled: .*\napp: matches: .*\ninstallation: found, id \d+: .*contents:write/);
  expect(code).toBe(0);
});

test('a disabled key version is named with its state, and no request goes to the platform', async () => {
  world.kms.version(world.env['KMS_KEY_VERSION']!).state = 'DISABLED';
  const { code, out } = await check();
  expect(out).toMatch(/^key: Disabled: /);
  expect(code).toBe(1);
  expect(world.platform.requests).toHaveLength(0);
});

test('an App ID that no App has is detected by a request to the platform', async () => {
  const { code, out } = await check({ VCS_APP_ID: '999' });
  expect(out).toContain('\napp: wrong: the platform knows no App with this ID\n');
  expect(code).toBe(1);
});

test('an organisation without the App is reported', async () => {
  const { code, out } = await check({ VCS_ORG: 'nobody' });
  expect(out).toMatch(/\ninstallation: /);
  expect(out).not.toMatch(/installation: found/);
  expect(code).toBe(1);
});
