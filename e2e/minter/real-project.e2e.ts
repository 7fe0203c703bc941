import { readSettings } from '../../src/base/settings.ts';
import { systemClock } from '../../src/base/clock.ts';
import { checkSettingTable } from '../../src/minter/setting-table.ts';
import { checkApp } from '../../src/minter/tools/check-app.ts';
import { askToken, settingsOf, startMinter, untilReady } from '../../src/testing/minter-world/running-minter.ts';
import { needing, type Need } from '../../src/testing/needs.ts';
import { startMinterWorld } from '../../src/testing/minter-world/world.ts';

/**
 * Checks that the fakes are like reality: runs the same minter with a real key version and a real App. It needs a real
 * organisation, so it runs only if the environment names one:
 *   MINTER_REAL_ORG, MINTER_REAL_APP_ID, MINTER_REAL_KEY_VERSION, MINTER_REAL_REPOSITORY,
 *   MINTER_REAL_TOKEN (an identity token, format full), MINTER_REAL_AUDIENCE, MINTER_REAL_EMAIL
 * The key service's client finds its credentials by itself. The test mints one token and revokes it.
 */
const { env } = process;
const need = ['ORG', 'APP_ID', 'KEY_VERSION', 'REPOSITORY', 'TOKEN', 'AUDIENCE', 'EMAIL'].map(
  (n) => `MINTER_REAL_${n}`,
);
const absent = need.filter((name) => !env[name]);
const project: Need = {
  name: 'real-project',
  missing: absent.length > 0 ? `not set: ${absent.join(', ')}` : undefined,
};
const onlyWithProject = needing(project).test;
const real = (name: string): string => env[`MINTER_REAL_${name}`] ?? '';

const api = 'https://api.github.com';
const realEnvironment = (): Record<string, string> => ({
  VCS_ORG: real('ORG'),
  VCS_APP_ID: real('APP_ID'),
  KMS_KEY_VERSION: real('KEY_VERSION'),
  KMS_API_ENDPOINT: '',
  VCS_API_BASE_URL: api,
  ISSUER_URL: 'https://accounts.google.com',
  JWKS_URI: 'https://www.googleapis.com/oauth2/v3/certs',
  AUDIENCES: real('AUDIENCE'),
});

onlyWithProject('the real key signs for the real App, and its installation is found', async () => {
  const values = readSettings(checkSettingTable, { flags: {}, env: realEnvironment(), prefix: '' });
  const out: string[] = [];
  const io = { env, stdout: (text: string) => out.push(text), stderr: (text: string) => out.push(text) };
  const code = await checkApp(values, { ...io, clock: systemClock });
  expect([code, out.join('')]).toEqual([0, expect.stringContaining('installation: found')]);
});

onlyWithProject('a mint is granted exactly what was requested, and a wider request is refused', async () => {
  const world = await startMinterWorld({ org: real('ORG') });
  await world.writeRules({
    '.yaml': [
      `version: 'minty.abcxyz.dev/v2'`,
      `rule: {if: "assertion.iss == issuers.google"}`,
      `scope:`,
      `  probe:`,
      `    rule: {if: "assertion.email == '${real('EMAIL')}'"}`,
      `    repositories: ['${real('REPOSITORY')}']`,
      `    permissions: {contents: read}`,
      ``,
    ].join('\n'),
  });
  expect(settingsOf(world, realEnvironment()).keyProvider).toEqual({ kind: 'gcp', endpoint: undefined });
  const minter = await startMinter(world, { env: realEnvironment() });
  try {
    await untilReady(minter);
    const body = { org_name: real('ORG'), repositories: [real('REPOSITORY')], scope: 'probe' };
    const granted = await askToken(minter, real('TOKEN'), body);
    expect(granted.status).toBe(200);
    const authorization = `Bearer ${granted.text}`;
    const seen = await fetch(`${api}/installation/repositories`, { headers: { authorization } });
    const { repositories } = (await seen.json()) as { repositories: { name: string }[] };
    expect(repositories.map((repository) => repository.name)).toEqual([real('REPOSITORY')]);
    await fetch(`${api}/installation/token`, { method: 'DELETE', headers: { authorization } });
    const wider = await askToken(minter, real('TOKEN'), { ...body, permissions: { contents: 'write' } });
    expect(wider.status).toBe(403);
  } finally {
    await minter.stop();
    await world.stop();
  }
});
