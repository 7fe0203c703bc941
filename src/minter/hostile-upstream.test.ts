import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { testKey } from '../testing/minter-world/keys.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';
import { until } from '../testing/until.ts';
import { ShiftedClock } from '../testing/shifted-clock.ts';
import type { KmsFaults } from '../testing/fake-kms/fake-kms.ts';
import type { PlatformFault, PlatformRoute } from '../testing/fake-platform/fake-platform.ts';

let world: MinterWorld;
let minter: RunningMinter;
let clock: ShiftedClock;

beforeAll(async () => {
  clock = new ShiftedClock();
  world = await startMinterWorld({ now: () => clock.now() });
  await world.writeRules({ '.yaml': agentRules() });
  minter = await startMinter(world, { clock, env: { APP_JWT_REUSE_SECONDS: '0', RULES_RELOAD_SECONDS: '1' } });
  await untilReady(minter);
  await until('the readiness', minter.readiness, {
    good: (report) => report.checks.every((check) => check.status === 'True'),
  });
});

beforeEach(() => {
  world.kms.clearFaults();
  world.platform.faults.clear();
  world.platform.state.installations[0]!.suspended = false;
  // Longer than an installation stays cached.
  clock.shift(11 * 60_000);
});

afterAll(async () => {
  await minter.stop();
  await world.stop();
});

const ask = (body: object = {}): ReturnType<typeof askToken> =>
  askToken(minter, world.issuer.token(agentEmail, audience), body);
const errorOf = (answer: { text: string }): string => (JSON.parse(answer.text) as { error: string }).error;
const sentJwts = (): Set<string> => new Set(world.platform.requests.map((r) => r.authorization));

test.each<[sentence: string, faults: KmsFaults]>([
  ['a signature damaged on its way', { signatureCrc: 'wrong' }],
  ['a signature without checksum', { signatureCrc: 'absent' }],
  ['a digest that was not verified', { digestNotVerified: true }],
  ['an answer of another key version', { otherName: true }],
  ['a signature of another key', { otherKey: testKey('stranger') }],
  ['an exhausted quota', { status: { code: 8, message: 'Quota exceeded', methods: ['AsymmetricSign'] } }],
  ['an internal error', { status: { code: 13, message: 'Internal', methods: ['AsymmetricSign'] } }],
  ['an unavailable service', { status: { code: 14, message: 'unavailable', methods: ['AsymmetricSign'] } }],
])('key service: %s gives 503, and no JWT is sent', async (_sentence, faults) => {
  world.kms.faults = faults;
  const before = sentJwts();
  const answer = await ask();
  expect(answer.status).toBe(503);
  expect(errorOf(answer)).toBe('signer_unavailable');
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(sentJwts()).toEqual(before);
});

test('key service: one failure is retried and the mint succeeds', async () => {
  world.kms.faults = { unavailableSigns: 1 };
  expect((await ask()).status).toBe(200);
});

test('key service: a call that hangs is attempted twice, and the caller gets 503 within four seconds', async () => {
  world.kms.faults = { hang: ['AsymmetricSign'] };
  const attempts = world.kms.count('AsymmetricSign');
  const answer = await ask();
  expect([answer.status, errorOf(answer)]).toEqual([503, 'signer_unavailable']);
  expect(answer.ms).toBeLessThan(4_000);
  expect(world.kms.count('AsymmetricSign') - attempts).toBe(2);
});

/** `installation` in a title: the answer about the App's installation; `exchange`: the answer with the new token. */
type PlatformRow = [sentence: string, route: PlatformRoute, fault: PlatformFault, status: number, code: string];
const iso = (ms: number): string => new Date(clock.now() + ms).toISOString();

test.each<PlatformRow>([
  ['installation answers 401 twice', 'get_installation', { status: 401 }, 502, 'installation_error'],
  ['installation answers 403', 'get_installation', { status: 403 }, 502, 'installation_error'],
  ['installation answers 500', 'get_installation', { status: 500 }, 502, 'installation_error'],
  [
    'installation redirects',
    'get_installation',
    { status: 301, headers: { location: '/elsewhere' } },
    502,
    'installation_error',
  ],
  ['installation answers 202', 'get_installation', { status: 202, body: {} }, 502, 'installation_error'],
  ['installation answers 204', 'get_installation', { status: 204 }, 502, 'installation_error'],
  [
    'installation is not JSON',
    'get_installation',
    { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } },
    502,
    'installation_error',
  ],
  ['installation is broken JSON', 'get_installation', { status: 200, body: '{"id":' }, 502, 'installation_error'],
  [
    'installation of a user account',
    'get_installation',
    { change: (b) => ({ ...b, account: { login: 'acme', type: 'User' } }) },
    502,
    'installation_error',
  ],
  [
    'installation of another login',
    'get_installation',
    { change: (b) => ({ ...b, account: { login: 'evil', type: 'Organization' } }) },
    502,
    'installation_error',
  ],
  [
    'installation of another App',
    'get_installation',
    { change: (b) => ({ ...b, app_id: 1 }) },
    502,
    'installation_error',
  ],
  [
    'installation with a string as id',
    'get_installation',
    { change: (b) => ({ ...b, id: '1/../2' }) },
    502,
    'installation_error',
  ],
  [
    'installation with an id above the exact integers',
    'get_installation',
    { status: 200, body: '{"id":90071992547409931,"account":{"login":"acme","type":"Organization"}}' },
    502,
    'installation_error',
  ],
  ['installation without account', 'get_installation', { change: () => ({ id: 1 }) }, 502, 'installation_error'],
  [
    'installation of 1 MB',
    'get_installation',
    { status: 200, body: `"${'x'.repeat(1_000_000)}"` },
    502,
    'installation_error',
  ],
  ['exchange answers 401 twice', 'create_token', { status: 401 }, 502, 'exchange_error'],
  ['exchange answers 403 (suspended)', 'create_token', { status: 403 }, 502, 'exchange_error'],
  ['exchange answers 404', 'create_token', { status: 404 }, 502, 'exchange_error'],
  ['exchange answers 422', 'create_token', { status: 422 }, 502, 'exchange_error'],
  ['exchange answers 500', 'create_token', { status: 500 }, 502, 'exchange_error'],
  ['exchange answers 200', 'create_token', { status: 200, body: { token: 'x' } }, 502, 'exchange_error'],
  ['exchange cuts the connection', 'create_token', { drop: true }, 502, 'exchange_error'],
  [
    'exchange is 201 without JSON',
    'create_token',
    { status: 201, body: 'token', headers: { 'content-type': 'text/plain' } },
    502,
    'exchange_error',
  ],
  ['exchange is 201 without token', 'create_token', { change: ({ token: _, ...rest }) => rest }, 502, 'exchange_error'],
  [
    'exchange is 201 with an empty token',
    'create_token',
    { change: (b) => ({ ...b, token: '' }) },
    502,
    'exchange_error',
  ],
  [
    'exchange is 201 with line feeds in the token',
    'create_token',
    { change: (b) => ({ ...b, token: 'a\r\nSet-Cookie: x' }) },
    502,
    'exchange_error',
  ],
  [
    'exchange is 201 with a list as token',
    'create_token',
    { change: (b) => ({ ...b, token: ['x'] }) },
    502,
    'exchange_error',
  ],
  [
    '429 on the exchange',
    'create_token',
    { status: 429, headers: { 'retry-after': '17' } },
    503,
    'platform_rate_limited',
  ],
  [
    'a secondary limit on the installation',
    'get_installation',
    { status: 403, headers: { 'retry-after': '40' } },
    503,
    'platform_rate_limited',
  ],
  [
    'an exhausted primary limit',
    'create_token',
    { status: 403, headers: { 'x-ratelimit-remaining': '0' } },
    503,
    'platform_rate_limited',
  ],
  [
    'a secondary limit on the exchange that only the message names',
    'create_token',
    {
      status: 403,
      body: { message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.' },
    },
    503,
    'platform_rate_limited',
  ],
])('platform: %s', async (_sentence, route, fault, status, code) => {
  world.platform.faults.set(route, fault);
  const answer = await ask();
  expect([answer.status, errorOf(answer)]).toEqual([status, code]);
  expect(answer.headers.get('retry-after')).toBe(status === 503 ? (fault.headers?.['retry-after'] ?? '60') : null);
  expect(answer.text).not.toMatch(/ghs_|eyJ|fault/);
});

test('a limit of the platform is remembered: until it ends, mints are refused with the rest of the time, unsent', async () => {
  world.platform.faults.set('create_token', { status: 403, body: { message: 'a secondary rate limit' }, times: 1 });
  expect((await ask()).headers.get('retry-after')).toBe('60');
  const sent = world.platform.count('create_token');
  clock.shift(20_000);
  const answer = await ask();
  expect([answer.status, errorOf(answer)]).toEqual([503, 'platform_rate_limited']);
  const rest = Number(answer.headers.get('retry-after'));
  expect(rest).toBeLessThanOrEqual(40);
  expect(rest).toBeGreaterThan(0);
  expect(world.platform.count('create_token')).toBe(sent);
  clock.shift(rest * 1_000);
  const lookUps = world.platform.count('get_installation');
  expect((await ask()).status).toBe(200);
  expect(world.platform.count('get_installation')).toBe(lookUps);
});

test.each<[sentence: string, change: (body: Record<string, unknown>) => unknown]>([
  [
    'more repositories',
    (b) => ({ ...b, repositories: [...(b.repositories as object[]), { name: 'extra', owner: { login: 'acme' } }] }),
  ],
  ['another repository', (b) => ({ ...b, repositories: [{ name: 'extra', owner: { login: 'acme' } }] })],
  ['a repository of another owner', (b) => ({ ...b, repositories: [{ name: 'gitops', owner: { login: 'evil' } }] })],
  ['no list of repositories', ({ repositories: _, ...rest }) => rest],
  ['more permissions', (b) => ({ ...b, permissions: { ...(b.permissions as object), administration: 'read' } })],
  ['a higher permission', (b) => ({ ...b, permissions: { ...(b.permissions as object), contents: 'admin' } })],
  ['a lower permission', (b) => ({ ...b, permissions: { ...(b.permissions as object), contents: 'read' } })],
  ['a lifetime of a day', (b) => ({ ...b, expires_at: iso(86_400_000) })],
  ['no expiry', ({ expires_at: _, ...rest }) => rest],
])('a grant with %s is refused and revoked', async (_sentence, change) => {
  world.platform.faults.set('create_token', { change });
  const revoked = world.platform.count('revoke_token');
  const alive = world.platform.state.tokens.size;
  const answer = await ask();
  expect([answer.status, errorOf(answer)]).toEqual([502, 'grant_mismatch']);
  expect(answer.text).not.toContain('ghs_');
  await until('the revocation', () => world.platform.count('revoke_token'), { good: (count) => count > revoked });
  expect(world.platform.state.tokens.size).toBe(alive);
});

test('a platform that hangs gives 502 before the caller gives up', async () => {
  world.platform.faults.set('create_token', { hang: true });
  const answer = await ask();
  expect([answer.status, errorOf(answer)]).toEqual([502, 'exchange_error']);
  expect(answer.ms).toBeLessThan(4_500);
});

test('a token for a hundred repositories, each of which the platform describes in 5 KB, is minted', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `repository-${i}`);
  for (const name of names) world.platform.state.accounts.get('acme')!.repositories.add(name);
  await world.writeRules({ '.yaml': agentRules(['gitops', 'extra', ...names]) });
  const large = await startMinter(world, { clock, env: { MAX_REPOSITORIES: '100' } });
  try {
    await untilReady(large);
    let size = 0;
    world.platform.faults.set('create_token', {
      change: (body) => {
        size = JSON.stringify(body).length;
        return body;
      },
    });
    const answer = await askToken(large, world.issuer.token(agentEmail, audience), { repositories: names });
    expect([answer.status, answer.text]).toEqual([200, expect.stringMatching(/^ghs_/)]);
    expect(size).toBeGreaterThan(450_000);
  } finally {
    await large.stop();
    await world.writeRules({ '.yaml': agentRules() });
  }
});

test('one 5xx of the platform is retried with the same body', async () => {
  world.platform.faults.set('create_token', { status: 502, times: 1 });
  const from = world.platform.requests.length;
  const answer = await ask();
  expect(answer.status).toBe(200);
  world.platform.state.tokens.delete(answer.text);
  const bodies = world.platform.requests
    .slice(from)
    .filter((r) => r.route === 'create_token')
    .map((r) => r.body);
  expect(bodies).toHaveLength(2);
  expect(bodies[0]).toBe(bodies[1]);
  expect(JSON.parse(bodies[0]!)).toEqual({
    repositories: ['gitops'],
    permissions: { contents: 'write', pull_requests: 'write', issues: 'write' },
  });
});

test('one 401 of the platform is retried with a fresh JWT', async () => {
  world.platform.faults.set('get_installation', { status: 401, times: 1 });
  const signs = world.kms.count('AsymmetricSign');
  expect((await ask()).status).toBe(200);
  // Two JWTs of the same second are equal, so the signatures are counted instead.
  expect(world.kms.count('AsymmetricSign') - signs).toBe(2);
});

test('if the exchange answers 401 although the JWT was just replaced, the App is checked again', async () => {
  world.platform.faults.set('get_installation', { status: 401, times: 1 });
  world.platform.faults.set('create_token', { status: 401 });
  const checks = world.platform.count('get_app');
  expect(errorOf(await ask())).toBe('exchange_error');
  await until('the check of the App', () => world.platform.count('get_app'), { good: (count) => count > checks });
});

test('the error for a personal account names two causes: the account, and a missing installation', async () => {
  world.platform.state.accounts.get('acme')!.type = 'User';
  try {
    const answer = await ask();
    expect(answer.status).toBe(502);
    expect((JSON.parse(answer.text) as { message: string }).message).toMatch(
      /errors retrieving installation .*404.*personal account.*not installed/,
    );
    expect(world.platform.count('get_user_installation')).toBe(0);
  } finally {
    world.platform.state.accounts.get('acme')!.type = 'Organization';
  }
});

test('the error says that an installation is suspended', async () => {
  world.platform.state.installations[0]!.suspended = true;
  expect(JSON.parse((await ask()).text)).toMatchObject({
    error: 'installation_error',
    message: expect.stringContaining('suspended') as string,
  });
});

test('the error names a repository that the installation does not know', async () => {
  world.platform.state.accounts.get('acme')!.repositories.delete('extra');
  try {
    const answer = await ask({ repositories: ['gitops', 'extra'] });
    expect(JSON.parse(answer.text)).toMatchObject({
      error: 'exchange_error',
      message: expect.stringContaining('extra') as string,
    });
    const check = (await minter.readiness()).checks.find((c) => c.type === 'InstallationFound');
    expect(check).toMatchObject({ status: 'False', reason: 'RepositoryNotSelected' });
  } finally {
    world.platform.state.accounts.get('acme')!.repositories.add('extra');
  }
});

test('a key version that is not ENABLED makes the pod unready immediately, until it is ENABLED again', async () => {
  const keyCheck = async (): Promise<unknown> => (await minter.readiness()).checks.find((c) => c.type === 'KeyEnabled');
  world.kms.version(world.keyVersion).state = 'DISABLED';
  expect(errorOf(await ask())).toBe('signer_unavailable');
  expect(await minter.readiness()).toMatchObject({ ready: false, gates: { key: false } });
  expect(await keyCheck()).toMatchObject({ status: 'False', reason: 'Disabled' });
  expect((await fetch(`${minter.url}/version`)).status).toBe(503);
  const signs = world.kms.count('AsymmetricSign');
  expect(errorOf(await ask())).toBe('not_ready');
  expect(world.kms.count('AsymmetricSign')).toBe(signs);
  for (const [state, reason] of [
    ['DESTROYED', 'Destroyed'],
    ['PENDING_IMPORT', 'PendingImport'],
  ] as const) {
    world.kms.version(world.keyVersion).state = state;
    await until('the check of the key', keyCheck, { good: (check) => (check as { reason: string }).reason === reason });
  }
  world.kms.version(world.keyVersion).state = 'ENABLED';
  await untilReady(minter);
  expect((await ask()).status).toBe(200);
});

test('within seconds after a rule is removed, the callers that it admitted get no token', async () => {
  expect((await ask()).status).toBe(200);
  await writeFile(
    join(world.configsDir, world.org, '.yaml'),
    agentRules(['gitops'], 'boss@proj.iam.gserviceaccount.com'),
  );
  const answer = await until('a refusal', () => ask(), { good: (a) => a.status !== 200, timeoutMs: 5_000 });
  expect(answer.status).toBe(403);
  await world.writeRules({ '.yaml': agentRules() });
  await until('service again', () => ask(), { good: (a) => a.status === 200, timeoutMs: 5_000 });
});

test('no log contains a secret, and no request followed the location of an answer', () => {
  expect(minter.output()).toContain('"decision"');
  expect(minter.output()).not.toMatch(/ghs_|eyJ|PRIVATE KEY/);
  expect(world.platform.requests.filter((r) => r.route === 'unknown')).toEqual([]);
});
