import { writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { privatePem, testKey } from '../testing/minter-world/keys.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';
import { until } from '../testing/until.ts';

let world: MinterWorld;
let minter: RunningMinter | undefined;

beforeEach(async () => {
  world = await startMinterWorld();
  await world.writeRules({ '.yaml': agentRules() });
});

afterEach(async () => {
  await minter?.stop();
  minter = undefined;
  await world.stop();
});

const start = async (env: Record<string, string> = {}): Promise<RunningMinter> =>
  (minter = await startMinter(world, { env }));
const token = (): string => world.issuer.token(agentEmail, audience);
const check = async (type: string): Promise<unknown> => (await minter!.readiness()).checks.find((c) => c.type === type);
const untilCheck = (type: string, reason: string): Promise<unknown> =>
  until('the check', () => check(type), { good: (seen) => (seen as { reason: string }).reason === reason });

test('the minter starts without a key, reports that, and becomes ready when the key appears', async () => {
  const version = world.keyVersion;
  const [key] = world.kms.keys.values();
  const versions = key!.versions.splice(0);
  const { url, adminUrl } = await start();
  expect(await untilCheck('KeyEnabled', 'NotFound')).toMatchObject({ status: 'False' });
  expect((await fetch(`${url}/version`)).status).toBe(503);
  expect((await fetch(`${adminUrl}/readyz`)).status).toBe(503);
  expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
  key!.versions.push(...versions);
  const report = await untilReady(minter!);
  expect(report).toMatchObject({ keyVersion: version, gates: { rules: true, key: true, app: true } });
});

test.each([
  ['NotFound', () => world.kms.keys.clear()],
  ['WrongAlgorithm', () => (world.kms.version(world.keyVersion).algorithm = 'RSA_SIGN_PSS_2048_SHA256')],
  ['PermissionDenied', () => (world.kms.faults = { status: { code: 7, message: 'denied' } })],
  ['PendingImport', () => (world.kms.version(world.keyVersion).state = 'PENDING_IMPORT')],
  ['KeyServiceUnreachable', () => (world.kms.faults = { status: { code: 14, message: 'away' } })],
])('an unusable key is reported as %s, and the pod is not ready', async (reason, arrange) => {
  arrange();
  await start();
  await untilCheck('KeyEnabled', reason);
  expect(await minter!.readiness()).toMatchObject({ ready: false, gates: { rules: true, key: false } });
});

/** Forwards connections to the key service. `silence` keeps those that are open, and forwards nothing more on them. */
async function startKmsPath(): Promise<{ address: string; silence: () => void; close: () => Promise<unknown> }> {
  const sockets = new Set<Socket>();
  const path = createServer((client) => {
    const kms = connect(world.kms.port, '127.0.0.1');
    for (const [from, to] of [
      [client, kms],
      [kms, client],
    ] as const) {
      sockets.add(from.on('error', () => to.destroy()));
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => path.listen(0, '127.0.0.1', resolve));
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(path.address() as AddressInfo).port}`,
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      end();
      return new Promise((resolve) => path.close(resolve));
    },
  };
}

test('a connection to the key service that dies without a word is replaced within seconds', async () => {
  const path = await startKmsPath();
  try {
    await start({ APP_JWT_REUSE_SECONDS: '0', KMS_API_ENDPOINT: path.address });
    await untilReady(minter!);
    expect((await askToken(minter!, token())).status).toBe(200);
    path.silence();
    expect(JSON.parse((await askToken(minter!, token())).text)).toMatchObject({ error: 'signer_unavailable' });
    await until('a signature', () => askToken(minter!, token()), { good: (a) => a.status === 200, timeoutMs: 20_000 });
  } finally {
    await path.close();
  }
});

test('with only the permission to sign, a probe signature shows that the key works', async () => {
  world.kms.faults = { denyDescribe: true };
  await start();
  await untilReady(minter!);
  expect(await check('KeyEnabled')).toMatchObject({ status: 'True', message: 'a probe signature was made' });
});

test('with only the permission to sign, a key that a mint found disabled is not reported as enabled again', async () => {
  world.kms.faults = { status: { code: 7, message: 'denied', methods: ['GetCryptoKeyVersion'] } };
  await start({ APP_JWT_REUSE_SECONDS: '0' });
  await untilReady(minter!);
  world.kms.version(world.keyVersion).state = 'DISABLED';
  expect((await askToken(minter!, token())).status).toBe(503);
  const checks = world.kms.count('GetCryptoKeyVersion');
  await until('two more checks', () => world.kms.count('GetCryptoKeyVersion'), { good: (count) => count > checks + 1 });
  expect(await check('KeyEnabled')).toMatchObject({ status: 'False', reason: 'Disabled' });
});

test('a mint that may not sign makes the pod unready until it may, although the key version is ENABLED', async () => {
  await start({ APP_JWT_REUSE_SECONDS: '0' });
  await untilReady(minter!);
  world.kms.faults = { status: { code: 7, message: 'denied', methods: ['AsymmetricSign'] } };
  expect((await askToken(minter!, token())).status).toBe(503);
  const checks = world.kms.count('GetCryptoKeyVersion');
  await until('two more checks', () => world.kms.count('GetCryptoKeyVersion'), { good: (count) => count > checks + 1 });
  expect(await check('KeyEnabled')).toMatchObject({ status: 'False', reason: 'PermissionDenied' });
  world.kms.clearFaults();
  await untilReady(minter!);
});

test('a key of another App is detected before the first mint, and no token is minted', async () => {
  world.kms.version(world.keyVersion).key = testKey('stranger');
  await start();
  await untilCheck('KeyMatchesApp', 'WrongApp');
  expect((await fetch(`${minter!.url}/version`)).status).toBe(503);
  const answer = await askToken(minter!, token());
  expect(JSON.parse(answer.text)).toMatchObject({ error: 'not_ready' });
  expect(answer.headers.get('retry-after')).toBe('30');
});

test('a clock that is two minutes ahead is named, and not the key', async () => {
  minter = await startMinter(world, { clock: { ...systemClock, now: () => Date.now() + 120_000 } });
  expect(await untilCheck('KeyMatchesApp', 'ClockSkew')).toMatchObject({
    status: 'False',
    message: "the platform refuses the signature: the clock of this node is about 120 s ahead of the platform's",
  });
  expect((await fetch(`${minter.url}/version`)).status).toBe(503);
});

test('an App that is deleted is named by the mint that finds it gone, and the pod stops minting', async () => {
  await start();
  await untilReady(minter!);
  world.platform.state.apps.splice(0);
  expect(JSON.parse((await askToken(minter!, token())).text)).toMatchObject({
    error: 'installation_error',
    message: 'the platform knows no App with this ID',
  });
  expect(minter!.audit.at(-1)).toMatchObject({ code: 'installation_error', reason: 'app_unknown' });
  await untilCheck('KeyMatchesApp', 'WrongApp');
  expect((await fetch(`${minter!.url}/version`)).status).toBe(503);
});

test('a platform that fails to answer GET /app does not block readiness', async () => {
  world.platform.faults.set('get_app', { status: 503 });
  await start();
  await untilReady(minter!);
  expect(await check('KeyMatchesApp')).toMatchObject({ status: 'Unknown', reason: 'PlatformUnreachable' });
  expect((await askToken(minter!, token())).status).toBe(200);
});

test.each([
  ['NextMatches', 'app'],
  ['NextWrongApp', 'stranger'],
])('the next key version is checked as well as the one in use: %s', async (reason, key) => {
  const next = world.kms.addVersion(testKey(key));
  await start({ KMS_NEXT_KEY_VERSION: next });
  await untilCheck('KeyMatchesApp', reason);
  await untilReady(minter!);
  expect((await askToken(minter!, token())).status).toBe(200);
});

test.each([
  ['NotInstalled', () => world.platform.state.installations.splice(0)],
  ['Suspended', () => (world.platform.state.installations[0]!.suspended = true)],
  ['PermissionMissing', () => delete world.platform.state.installations[0]!.permissions.issues],
])('the installation problem %s is reported and does not block readiness', async (reason, arrange) => {
  arrange();
  await start();
  await untilCheck('InstallationFound', reason);
  await untilReady(minter!);
});

test.each([
  ['NotInstalled', () => world.platform.state.installations.splice(0)],
  ['Suspended', () => (world.platform.state.installations[0]!.suspended = true)],
  ['PlatformUnreachable', () => world.platform.faults.set('get_installation', { status: 503 })],
])('a mint that succeeds shows that the installation is no longer %s', async (reason, arrange) => {
  const installed = [...world.platform.state.installations];
  arrange();
  await start();
  await untilCheck('InstallationFound', reason);
  await untilReady(minter!);
  world.platform.state.installations.splice(0, 1, { ...installed[0]!, suspended: false });
  world.platform.faults.clear();
  expect((await askToken(minter!, token())).status).toBe(200);
  expect(await check('InstallationFound')).toMatchObject({ status: 'True', reason: 'Found' });
});

test('a mint with fewer permissions leaves it reported that the installation lacks one', async () => {
  delete world.platform.state.installations[0]!.permissions.issues;
  await start();
  await untilCheck('InstallationFound', 'PermissionMissing');
  await untilReady(minter!);
  expect((await askToken(minter!, token(), { permissions: { contents: 'read' } })).status).toBe(200);
  expect(await check('InstallationFound')).toMatchObject({ status: 'False', reason: 'PermissionMissing' });
});

test('without a usable rule the pod is not ready, and the message names file and line', async () => {
  await world.writeRules({ '.yaml': agentRules().replace('assertion.email in', 'email in') });
  await start({ RULES_RELOAD_SECONDS: '1' });
  expect(await untilCheck('RulesValid', 'ScopeFaulty')).toMatchObject({
    message: expect.stringMatching(/^\.yaml:5: scope/) as string,
  });
  expect((await minter!.readiness()).gates.rules).toBe(false);
  await writeFile(join(world.configsDir, world.org, '.yaml'), agentRules());
  await untilReady(minter!);
});

test('unavailable issuer keys give 503, and the pod stays ready', async () => {
  world.issuer.fault = { status: 500 };
  await start();
  await untilReady(minter!);
  const answer = await askToken(minter!, token());
  expect([answer.status, (JSON.parse(answer.text) as { error: string }).error]).toEqual([
    503,
    'issuer_keys_unavailable',
  ]);
  expect((await minter!.readiness()).ready).toBe(true);
  world.issuer.fault = undefined;
  await until('service again', () => askToken(minter!, token()), { good: (a) => a.status === 200 });
});

test('a caller over its limit gets 429 with the time to wait, and another caller does not', async () => {
  await world.writeRules({ '.yaml': agentRules().replace('in [', `in ['other@x', `) });
  await start({ RATE_LIMIT_PER_MINUTE: '2' });
  await untilReady(minter!);
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await askToken(minter!, token())).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect(Number((await askToken(minter!, token())).headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await askToken(minter!, world.issuer.token('other@x', audience))).status).toBe(200);
});

test('mints in flight finish after the stop, then new connections are refused and the servers end', async () => {
  await start();
  await untilReady(minter!);
  world.platform.faults.set('create_token', { delayMs: 400 });
  const pending = askToken(minter!, token());
  await until('the count', () => world.platform.count('create_token'), { good: (count) => count === 1 });
  const stopped = minter!.stop();
  expect((await pending).status).toBe(200);
  await stopped;
  await expect(fetch(`${minter!.url}/version`)).rejects.toThrow();
});

test('a port in use ends the start at once, with an error that names the address', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const env = { PORT: String(port), SHUTDOWN_QUIET_SECONDS: '10' };
  const start = performance.now();
  await expect(startMinter(world, { env })).rejects.toThrow(`minter listen 127.0.0.1:${port}: address already in use`);
  expect(performance.now() - start).toBeLessThan(9_000);
  await new Promise((resolve) => taken.close(resolve));
});

test('a development key from a file signs, if it is allowed', async () => {
  const path = join(world.configsDir, 'dev.pem');
  await writeFile(path, privatePem(testKey('app')));
  await start({ KMS_PROVIDER: 'file', DEV_KEY_FILE: path, ALLOW_DEV_KEY: 'true', KMS_API_ENDPOINT: '' });
  await untilReady(minter!);
  expect((await askToken(minter!, token())).status).toBe(200);
  expect(world.kms.calls.size).toBe(0);
  expect(minter!.output()).toContain('for development only');
});

test('a caller over IPv4 has its IPv4 address in the audit line of a minter that listens on IPv6', async () => {
  await start({ BIND_ADDRESS: '::' });
  await untilReady(minter!);
  await askToken(minter!, token());
  expect(minter!.audit).toMatchObject([{ client_ip: '127.0.0.1' }]);
});

test('an allowed mint writes one audit line with everything but the token, and is counted', async () => {
  await start();
  await untilReady(minter!);
  const answer = await askToken(minter!, token(), { permissions: { contents: 'read' } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(world.platform.state.tokens.get(answer.text)?.permissions).toEqual({ contents: 'read', metadata: 'read' });
  expect(minter!.audit).toHaveLength(1);
  expect(minter!.audit[0]).toEqual({
    ts: expect.any(String) as string,
    request_id: answer.headers.get('x-request-id'),
    decision: 'allow',
    code: 'ok',
    reason: 'minted',
    client_ip: '127.0.0.1',
    iss: world.issuer.issuer,
    sub: expect.any(String) as string,
    email: agentEmail,
    org: 'acme',
    repositories: ['gitops'],
    scope: 'platform-agent-scope',
    permissions: { contents: 'read' },
    rule_file: '.yaml',
    rules_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    installation_id: 5000,
    key_version: world.keyVersion,
    app_jwt_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    token_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    expires_at: expect.any(String) as string,
    duration_ms: expect.any(Number) as number,
  });
  const metrics = await (await fetch(`${minter!.adminUrl}/metrics`)).text();
  expect(metrics).toContain('minter_mints_total{result="allow",code="ok"} 1');
  expect(metrics).toContain('minter_ready{check="all"} 1');
  expect(metrics).toContain('minter_rule_scopes{state="active"} 1');
  expect(metrics).not.toMatch(/agent@|gitops|acme/);
});
