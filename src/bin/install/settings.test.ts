import { flagOf, readSettings } from '../../base/settings.ts';
import { renderInstallation } from '../../render/index.ts';
import {
  asksForMinter,
  installationInput,
  installSettingTable,
  minterOf,
  minterSettingTable,
  withLegacyNames,
} from './settings.ts';

const read = (env: Record<string, string>) => readSettings(minterSettingTable, { flags: {}, env, prefix: '' });
const key = 'projects/p/locations/global/keyRings/r/cryptoKeys/k';
const whole = {
  VCS_APP_ID: '4711',
  GITOPS_ORG: 'acme',
  GITOPS_REPO: 'gitops',
  KMS_KEY_VERSION: `${key}/cryptoKeyVersions/1`,
  MINTER_CALLERS: 'a@p.iam.gserviceaccount.com,b@p.iam.gserviceaccount.com',
};

test('a minter is described by environment variables', () => {
  expect(asksForMinter(read(whole))).toBe(true);
  expect(minterOf(read(whole), whole.KMS_KEY_VERSION)).toMatchObject({
    appId: '4711',
    org: 'acme',
    repository: 'gitops',
    keyVersion: whole.KMS_KEY_VERSION,
    callers: ['a@p.iam.gserviceaccount.com', 'b@p.iam.gserviceaccount.com'],
  });
});

test('without an organization there is no minter, and no minter setting is required', () => {
  expect(asksForMinter(read({}))).toBe(false);
});

test.each([
  [{ ...whole, GITOPS_REPO: '' }, /GITOPS_REPO/],
  [{ ...whole, MINTER_CALLERS: '' }, /MINTER_CALLERS/],
  [{ ...whole, KMS_KEY_VERSION: key }, /KMS_KEY_VERSION/],
  [{ VCS_APP_ID: '1' }, /GITOPS_ORG/],
])('the refusal of a minter names the setting that is missing or wrong', (env, said) => {
  expect(() => asksForMinter(read(env as Record<string, string>))).toThrow(said);
});

test.each(['..', 'gitops.git', 'gitops.GIT', 'acme/gitops'])('%s is refused as the name of a repository', (name) => {
  expect(() => read({ ...whole, GITOPS_REPO: name })).toThrow(/GITOPS_REPO.*the name of a repository/);
});

test.each([key.replace('/r/', '/ring.1/'), `${key}/cryptoKeyVersions/0`])('%s is refused as a key', (name) => {
  expect(() => read({ ...whole, KMS_KEY_VERSION: name })).toThrow(/KMS_KEY_VERSION.*letters, digits and -/);
});

test('with a private key to import the name of the key is enough', () => {
  expect(asksForMinter(read({ ...whole, KMS_KEY_VERSION: key, VCS_PEM_PATH: '/app.pem' }))).toBe(true);
});

test('an old name sets the new one and warns once; where both are set, the new name wins', () => {
  const old = withLegacyNames({ VCS_ORG: 'acme', VCS_REPO: 'gitops' });
  expect(old.env).toMatchObject({ GITOPS_ORG: 'acme', GITOPS_REPO: 'gitops' });
  expect(old.warnings).toHaveLength(2);
  const both = withLegacyNames({ VCS_ORG: 'old', GITOPS_ORG: 'new' });
  expect(both.env['GITOPS_ORG']).toBe('new');
  expect(both.warnings).toEqual([expect.stringMatching(/VCS_ORG.*ignored/)]);
  expect(withLegacyNames({ GITOPS_ORG: 'acme' }).warnings).toEqual([]);
});

test.each([
  ['admission', 'fail-open'],
  ['otlpEndpoint', 'http://collector.monitoring.svc:4318'],
  ['apiServerCidrs', '10.0.0.0/28,fd00::/8'],
])('%s reaches the operator as it was given, and is not passed by default', (key, text) => {
  const argsOf = (flags: Record<string, string>): string[] => {
    const settings = readSettings(installSettingTable, { flags, env: {}, prefix: 'SVC_' });
    const objects = renderInstallation(installationInput(settings, undefined));
    const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
      spec: { template: { spec: { containers: { args: string[] }[] } } };
    };
    return deployment.spec.template.spec.containers[0]!.args;
  };
  const own = argsOf({ [key]: text });
  expect(own.filter((arg) => !argsOf({}).includes(arg))).toEqual([`${flagOf(key)}=${text}`]);
});
