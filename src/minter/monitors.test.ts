import { silentLogger } from '../base/logger.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { Monitors } from './monitors.ts';
import { PlatformUnreachable, type PlatformAnswer, type PlatformOperation } from './platform/platform-client.ts';
import { Readiness } from './readiness.ts';
import type { Permissions } from './rules/permissions.ts';
import type { KeyVerdict } from './sign/key-monitor.ts';
import { KeyServiceFailure } from './sign/key-service.ts';

const enabled: KeyVerdict = { status: 'True', reason: 'Enabled', message: 'the key version is ENABLED' };
const away: KeyVerdict = { status: 'Unknown', reason: 'KeyServiceUnreachable', message: 'away' };
const permissions = { contents: 'write' };
const account = { login: 'acme', type: 'Organization' };
const answer = (status: number, data?: unknown, retryAfterSeconds?: number): PlatformAnswer => ({
  status,
  data,
  retryAfterSeconds,
  dateMs: undefined,
});
/** A refusal of the signature. `aheadSeconds`: how far our clock is ahead of the platform's. */
const refusal = (aheadSeconds: number | undefined, message: string): PlatformAnswer => ({
  ...answer(401, { message }),
  dateMs: aheadSeconds === undefined ? undefined : clock.now() - aheadSeconds * 1_000,
});
const badSignature = 'A JSON web token could not be decoded';
const badIat = "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
const badExp = "'Expiration time' claim ('exp') is too far in the future";
const ourApp = answer(200, { id: 42 });
const installed = answer(200, { id: 7, account, permissions, suspended_at: null });
const suspended = answer(200, { id: 7, account, permissions, suspended_at: '2026-01-01T00:00:00Z' });
const unknownApp = answer(404, { message: 'Integration not found' });
const cutOff = new PlatformUnreachable('network', undefined);

let clock: FakeClock;
let readiness: Readiness;
let monitors: Monitors;
/** What the key service and the platform answer, and how often the platform was asked. */
let scene: {
  key: KeyVerdict;
  app: PlatformAnswer | Error;
  next: PlatformAnswer | Error;
  installation: PlatformAnswer | Error;
};
let asked: Record<'app' | 'next' | 'installation', number>;
/** The signatures that were given up. */
let dropped: string[];

beforeEach(() => {
  clock = new FakeClock();
  scene = { key: enabled, app: ourApp, next: ourApp, installation: installed };
  asked = { app: 0, next: 0, installation: 0 };
  dropped = [];
});
afterEach(() => monitors.close());

const call = (operation: PlatformOperation, bearer: string): Promise<PlatformAnswer> => {
  const what = operation === 'get_installation' ? 'installation' : bearer === 'next' ? 'next' : 'app';
  asked[what]++;
  const given = scene[what];
  return given instanceof Error ? Promise.reject(given) : Promise.resolve(given);
};
const jwts = (token: string) => ({
  get: () => Promise.resolve({ token, sha256: token }),
  drop: () => void dropped.push(token),
});

async function start({ withNext = false } = {}): Promise<void> {
  readiness = new Readiness({ clock, keyVersion: 'v/1', nextKeyVersion: withNext ? 'v/2' : undefined });
  monitors = new Monitors({
    org: 'acme',
    appId: 42,
    jwts: jwts('now'),
    nextJwts: withNext ? jwts('next') : undefined,
    platform: { call },
    readiness,
    clock,
    logger: silentLogger,
    key: { check: () => Promise.resolve(scene.key), doubt: () => {} },
    wantedPermissions: (): readonly Permissions[] => [new Map([['contents', 'write']])],
  });
  monitors.start();
  await settle();
}
const seen = (type: 'KeyEnabled' | 'KeyMatchesApp' | 'InstallationFound'): string => {
  const { status, reason } = readiness.get(type);
  return `${status} ${reason}`;
};

describe('the next key version', () => {
  test.each<[string, PlatformAnswer | Error, string]>([
    ['could not be used, as while it is imported', new KeyServiceFailure('failed_precondition', 'no'), 'True Matches'],
    ['was refused, as while the platform spreads a new key', answer(401), 'False NextWrongApp'],
  ])('is checked again every half minute after it %s', async (_what, first, reason) => {
    scene.next = first;
    await start({ withNext: true });
    expect(seen('KeyMatchesApp')).toBe(reason);
    const { next: before } = asked;
    scene.next = ourApp;
    await clock.advance(29_000);
    expect(asked.next).toBe(before);
    await clock.advance(2_000);
    expect(seen('KeyMatchesApp')).toBe('True NextMatches');
    await clock.advance(10 * 60_000);
    expect(asked.next).toBe(before + 1);
    expect(asked.app).toBe(1);
  });

  test('that is wrong stays so while the platform cannot be asked', async () => {
    scene.next = answer(200, { id: 1 });
    await start({ withNext: true });
    scene.next = cutOff;
    await clock.advance(10 * 60_000);
    expect(seen('KeyMatchesApp')).toBe('False NextWrongApp');
  });

  test('that matches is still reported after the App was checked again', async () => {
    await start({ withNext: true });
    monitors.doubtApp();
    await clock.advance(60_000);
    expect(asked.app).toBe(2);
    expect(seen('KeyMatchesApp')).toBe('True NextMatches');
  });
});

describe('the installation', () => {
  test.each<[string, PlatformAnswer | Error, string]>([
    ['a suspension', suspended, 'False Suspended'],
    ['a missing installation', answer(404), 'False NotInstalled'],
    ['a platform that was away', cutOff, 'Unknown PlatformUnreachable'],
  ])('is looked up again within half a minute after %s, and then every five minutes', async (_what, first, reason) => {
    scene.installation = first;
    await start();
    expect(seen('InstallationFound')).toBe(reason);
    scene.installation = installed;
    await clock.advance(31_000);
    expect(seen('InstallationFound')).toBe('True Found');
    expect(asked.installation).toBe(2);
    await clock.advance(4 * 60_000);
    expect(asked.installation).toBe(2);
    await clock.advance(90_000);
    expect(asked.installation).toBe(3);
  });

  test.each<[string, PlatformAnswer, string]>([
    ['found', installed, 'True Found'],
    ['suspended', suspended, 'False Suspended'],
  ])('that was %s stays so during an outage, and is looked up again soon after it', async (_what, last, reason) => {
    scene.installation = last;
    await start();
    scene.installation = cutOff;
    await clock.advance(6 * 60_000);
    expect(seen('InstallationFound')).toBe(reason);
    scene.installation = answer(404);
    await clock.advance(31_000);
    expect(seen('InstallationFound')).toBe('False NotInstalled');
  });

  test('that a mint found to lack a repository is judged by the look-up again ten minutes later, though the clock was set back', async () => {
    await start();
    readiness.set('InstallationFound', 'False', 'RepositoryNotSelected', 'the installation lacks acme/web');
    await clock.advance(6 * 60_000);
    clock.jumpWall(-6 * 3_600_000);
    expect(seen('InstallationFound')).toBe('False RepositoryNotSelected');
    await clock.advance(5 * 60_000);
    expect(seen('InstallationFound')).toBe('True Found');
  });

  test('is not looked up before the time that a platform names which limits requests', async () => {
    scene.installation = answer(429, undefined, 600);
    await start();
    await clock.advance(590_000);
    expect(asked.installation).toBe(1);
    await clock.advance(60_000);
    expect(asked.installation).toBe(2);
  });
});

test('the App is not checked before the time that a platform names which limits requests', async () => {
  scene.app = answer(403, undefined, 120);
  await start();
  await clock.advance(119_000);
  expect(asked.app).toBe(1);
  scene.app = ourApp;
  await clock.advance(3_000);
  expect(seen('KeyMatchesApp')).toBe('True Matches');
});

test('an App ID that no App has is a wrong App, and the pod is not ready', async () => {
  scene.app = unknownApp;
  await start();
  expect(readiness.get('KeyMatchesApp')).toMatchObject({
    status: 'False',
    reason: 'WrongApp',
    message: 'the platform knows no App with this ID',
  });
  expect(readiness.gates.app).toBe(false);
});

test.each([
  ['a refusal', answer(401), ['now', 'now']],
  ['a 404 that knows no such App', unknownApp, ['now', 'now']],
  ['any other 404', answer(404, { message: 'Not Found' }), []],
])('the signatures that are used no more after %s', async (_what, given, expected) => {
  scene.app = given;
  await start();
  expect(dropped).toEqual(expected);
});

test('a 404 that names no App, as of a wrong address, says nothing about the App', async () => {
  scene.app = answer(404, { message: 'Not Found' });
  await start();
  expect(seen('KeyMatchesApp')).toBe('Unknown PlatformUnreachable');
});

test.each([
  ['is gone', unknownApp],
  ['has lost its key', answer(401)],
])('a look-up of the installation finds out that the App %s', async (_what, refusal) => {
  await start();
  scene.app = scene.installation = refusal;
  await clock.advance(6 * 60_000);
  expect(seen('KeyMatchesApp')).toBe('False WrongApp');
  expect(seen('InstallationFound')).toBe('True Found');
});

describe('a signature that is refused', () => {
  test.each<[string, number | undefined, string, string]>([
    ['names iat', undefined, badIat, "the clock of this node is not the platform's"],
    ['names iat by a clock like ours', 2, badIat, "the clock of this node is not the platform's"],
    ['names exp', 58, badExp, "the clock of this node is about 60 s ahead of the platform's"],
    [
      'comes from a clock 2 min behind',
      121,
      badSignature,
      "the clock of this node is about 120 s ahead of the platform's",
    ],
    [
      'comes from a clock 9 min ahead',
      -542,
      badSignature,
      "the clock of this node is about 540 s behind the platform's",
    ],
  ])('is put down to our clock where the refusal %s', async (_what, aheadSeconds, text, message) => {
    scene.app = refusal(aheadSeconds, text);
    await start();
    expect(seen('KeyMatchesApp')).toBe('False ClockSkew');
    expect(readiness.get('KeyMatchesApp').message).toContain(message);
    expect(readiness.gates.app).toBe(false);
    expect(readiness.knownUnusable).toBe(true);
    scene.app = ourApp;
    await clock.advance(3_000);
    expect(seen('KeyMatchesApp')).toBe('True Matches');
  });

  test.each([28, -530])(
    'is put down to the key while our clock is %i s ahead, for which there is room',
    async (ahead) => {
      scene.app = refusal(ahead, badSignature);
      await start();
      expect(seen('KeyMatchesApp')).toBe('False WrongApp');
    },
  );

  test('for our clock says nothing about the next key version', async () => {
    scene.next = refusal(undefined, badIat);
    await start({ withNext: true });
    expect(seen('KeyMatchesApp')).toBe('True Matches');
    expect(readiness.get('KeyMatchesApp').message).toContain('not checked');
  });

  test('for our clock leaves a next key version wrong that was found to be so', async () => {
    scene.next = answer(200, { id: 1 });
    await start({ withNext: true });
    scene.next = refusal(undefined, badIat);
    await clock.advance(60_000);
    expect(seen('KeyMatchesApp')).toBe('False NextWrongApp');
  });
});

test.each<[string, PlatformAnswer]>([
  ['refused', answer(401)],
  ['of another App', answer(200, { id: 1 })],
])('a key that stays %s is checked less and less often, down to every half minute', async (_what, given) => {
  scene.app = given;
  await start();
  const perCheck = asked.app;
  await clock.advance(60_000);
  expect(asked.app / perCheck).toBe(6);
  await clock.advance(10 * 60_000);
  expect(asked.app / perCheck).toBe(26);
  scene.app = ourApp;
  await clock.advance(31_000);
  expect(seen('KeyMatchesApp')).toBe('True Matches');
});

test('a key of another App stays so while the platform cannot be asked', async () => {
  scene.app = answer(200, { id: 1 });
  await start();
  scene.app = cutOff;
  await clock.advance(60_000);
  expect(seen('KeyMatchesApp')).toBe('False WrongApp');
});

test('an outage of the key service leaves the last answer about the key in force', async () => {
  scene.key = away;
  await start();
  expect(seen('KeyEnabled')).toBe('Unknown KeyServiceUnreachable');
  scene.key = enabled;
  await clock.advance(3_000);
  scene.key = away;
  await clock.advance(120_000);
  expect(seen('KeyEnabled')).toBe('True Enabled');
});
