import { keyVersionPattern } from '../api/v1alpha1/key-version.ts';
import { serviceUrlPattern } from '../api/v1alpha1/service-url.ts';
import { readSettings } from '../base/settings.ts';
import { minterSettings, type MinterSettings } from './settings.ts';
import { minterSettingTable } from './setting-table.ts';

const env = {
  VCS_ORG: 'acme',
  VCS_APP_ID: '42',
  KMS_KEY_VERSION: 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
  AUDIENCES: 'http://minter:8080',
};

const read = (variables: Record<string, string | undefined>): MinterSettings =>
  minterSettings(readSettings(minterSettingTable, { flags: {}, env: variables, prefix: '' }));

test('the minter needs four settings and has a default for the rest', () => {
  expect(read(env)).toMatchObject({
    port: 8080,
    adminPort: 9090,
    configsDir: '/etc/minter',
    apiBaseUrl: 'https://api.github.com',
    issuerUrl: 'https://accounts.google.com',
    rateLimitPerMinute: 30,
    maxRepositories: 10,
    appJwtReuseSeconds: 240,
    rulesReloadSeconds: 15,
    allowWildcardRepositories: false,
    keyProvider: { kind: 'gcp', endpoint: undefined },
  });
});

test('an App ID may have a final newline, as one has that comes from a file', () => {
  expect(read({ ...env, VCS_APP_ID: '42\n' }).appId).toBe(42);
});

test('REPOSITORIES is a set in lower case, and undefined if it is not set', () => {
  expect(read({ ...env, REPOSITORIES: 'GitOps,docs' }).repositories).toEqual(new Set(['gitops', 'docs']));
  expect(read(env).repositories).toBeUndefined();
});

test('audiences are kept byte for byte, in order', () => {
  expect(read({ ...env, AUDIENCES: 'http://b:8080,http://b:8080/token' }).audiences).toEqual([
    'http://b:8080',
    'http://b:8080/token',
  ]);
});

test('an enterprise API root and a loopback key service are accepted', () => {
  const more = { VCS_API_BASE_URL: 'https://git.example/api/v3', KMS_API_ENDPOINT: '[::1]:5000' };
  expect(read({ ...env, ...more })).toMatchObject({
    apiBaseUrl: 'https://git.example/api/v3',
    keyProvider: { endpoint: { host: '[::1]', port: 5000 } },
  });
});

test('the issuer and the address of its keys are kept byte for byte, also with a slash at the end', () => {
  const more = { ISSUER_URL: 'https://tenant.eu.auth0.com/', JWKS_URI: 'https://keys.example:8443/' };
  expect(read({ ...env, ...more })).toMatchObject({ issuerUrl: more.ISSUER_URL, jwksUri: more.JWKS_URI });
});

test.each<[url: string, isTaken: boolean]>([
  ['https://tenant.eu.auth0.com/', true],
  ['https://git.example:8443/api/v3', true],
  ['https://[2001:db8::1]:8443/keys', true],
  ['https://issuer.example/keys?p=x', false],
  ['https://issuer.example?p=x', false],
  ['https://issuer.example#keys', false],
  ['https://', false],
  ['https:///keys', false],
  ['https://issuer.example:x/keys', false],
  ['https://issuer.example:65535/keys', true],
  ['https://issuer.example:08443/keys', true],
  ['https://issuer.example:0/keys', false],
  ['https://issuer.example:65536/keys', false],
  ['https://issuer.example:123456/keys', false],
  ['https://a b.example', false],
  ['https://a%zz.example', false],
  ['https://[issuer]/keys', false],
  ['https://anna:s3cret@issuer.example', false],
])('%s is taken by the pods and by the API server, or by none of them: %p', (url, isTaken) => {
  const inPods = (): unknown => read({ ...env, ISSUER_URL: url, JWKS_URI: url });
  if (isTaken) expect(inPods()).toMatchObject({ issuerUrl: url, jwksUri: url });
  else expect(inPods).toThrow(expect.objectContaining({ code: 'ERR_CONFIG_INVALID' }));
  // The rule of the CRD, as RE2 reads it.
  expect(new RegExp(serviceUrlPattern).test(url)).toBe(isTaken);
});

const keyVersion = (change: Record<string, string>): string =>
  Object.entries(change).reduce((name, [from, to]) => name.replace(from, to), env.KMS_KEY_VERSION);

test.each<[isTaken: boolean, name: string]>([
  [true, keyVersion({})],
  [true, keyVersion({ '/p/': '/example.com:my-project_1/', '/r/': '/Ring_1/', '/k/': `/${'k'.repeat(63)}/` })],
  [true, keyVersion({ 'Versions/1': 'Versions/9999999999' })],
  [false, keyVersion({ '/p/': '/my project/' })],
  [false, keyVersion({ '/global/': '/europe_west1/' })],
  [false, keyVersion({ '/r/': '/ring.1/' })],
  [false, keyVersion({ '/r/': `/${'r'.repeat(64)}/` })],
  [false, keyVersion({ '/k/': '/schlüssel/' })],
  [false, keyVersion({ '/k/': `/${'k'.repeat(64)}/` })],
  [false, keyVersion({ 'Versions/1': 'Versions/0' })],
  [false, keyVersion({ 'Versions/1': 'Versions/10000000000' })],
  [false, `${keyVersion({})}\n`],
])('the API server and the pods agree (%p) on the key version %j', (isTaken, name) => {
  const inPods = (): unknown => read({ ...env, KMS_KEY_VERSION: name });
  if (isTaken) expect(inPods()).toMatchObject({ keyVersion: name });
  else expect(inPods).toThrow(expect.objectContaining({ code: 'ERR_CONFIG_INVALID' }));
  // The rule of the CRD, as RE2 reads it.
  expect(new RegExp(keyVersionPattern).test(name)).toBe(isTaken);
});

test.each<[field: string, value: string | undefined]>([
  ['VCS_ORG', undefined],
  ['VCS_ORG', 'acme/../x'],
  ['VCS_ORG', '-acme'],
  ['VCS_APP_ID', undefined],
  ['VCS_APP_ID', '12x'],
  ['VCS_APP_ID', '0'],
  ['VCS_APP_ID', '1e3'],
  ['VCS_APP_ID', '4\n2'],
  ['VCS_APP_ID', '9007199254740992'],
  ['KMS_KEY_VERSION', undefined],
  ['KMS_KEY_VERSION', 'projects/p/locations/global/keyRings/r/cryptoKeys/k'],
  ['KMS_KEY_VERSION', `${env.KMS_KEY_VERSION}/`],
  ['KMS_KEY_VERSION', `${env.KMS_KEY_VERSION}\n`],
  ['KMS_NEXT_KEY_VERSION', env.KMS_KEY_VERSION],
  ['BIND_ADDRESS', '999.1.1.1'],
  ['BIND_ADDRESS', ':::'],
  ['KMS_API_ENDPOINT', '127.0.0.999:5000'],
  ['AUDIENCES', undefined],
  ['AUDIENCES', ','],
  ['AUDIENCES', 'a,b,c,d,e,f'],
  ['AUDIENCES', 'http://a b'],
  ['VCS_API_BASE_URL', 'http://api.example'],
  ['VCS_API_BASE_URL', 'https://api.example/'],
  ['VCS_API_BASE_URL', 'https://user:secret@api.example'],
  ['VCS_API_BASE_URL', 'https://api.example?x=1'],
  ['VCS_API_BASE_URL', 'file:///etc/passwd'],
  ['VCS_API_BASE_URL', 'http://127.0.0.1.evil.example'],
  ['VCS_API_BASE_URL', 'http://localhost.evil.example'],
  ['ISSUER_URL', 'accounts.google.com'],
  ['ISSUER_URL', 'https://issuer.example/?tenant=x'],
  ['JWKS_URI', 'https://issuer.example/keys?p=x'],
  ['JWKS_URI', 'http://169.254.169.254/certs'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['ADMIN_PORT', 'x'],
  ['CONFIGS_DIR', 'relative'],
  ['MAX_REPOSITORIES', '501'],
  ['REPOSITORIES', 'acme/gitops'],
  ['REPOSITORIES', 'gitops,'],
  ['RATE_LIMIT_PER_MINUTE', '0'],
  ['APP_JWT_REUSE_SECONDS', '600'],
  ['RULES_RELOAD_SECONDS', '0'],
  ['ALLOW_WILDCARD_REPOSITORIES', 'yes'],
  ['KMS_API_ENDPOINT', 'kms.example:443'],
  ['KMS_API_ENDPOINT', '10.0.0.1:80'],
  ['KMS_PROVIDER', 'vault'],
  ['DEV_KEY_FILE', '/key.pem'],
  ['LOG_LEVEL', 'loud'],
])('%s = %j is refused with an error that names the setting but not the value', (field, value) => {
  const start = (): unknown => read({ ...env, [field]: value });
  expect(start).toThrow(expect.objectContaining({ code: 'ERR_CONFIG_INVALID' }));
  expect(start).toThrow(new RegExp(`${field}[:)]`));
  if (value && value.length > 3) expect(start).not.toThrow(value);
});

test('a key from a file needs an explicit permission', () => {
  const file = { ...env, KMS_PROVIDER: 'file', DEV_KEY_FILE: '/key.pem' };
  expect(() => read(file)).toThrow(/^ALLOW_DEV_KEY: must be true/);
  expect(read({ ...file, ALLOW_DEV_KEY: 'true' }).keyProvider).toEqual({
    kind: 'file',
    path: '/key.pem',
  });
});
