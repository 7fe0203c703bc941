import { Pool } from 'undici';
import { testKey } from '../../src/testing/minter-world/keys.ts';
import { startMinter, untilReady, type RunningMinter } from '../../src/testing/minter-world/running-minter.ts';
import { until } from '../../src/testing/until.ts';
import {
  agentEmail,
  agentRules,
  audience,
  startMinterWorld,
  type MinterWorld,
} from '../../src/testing/minter-world/world.ts';
import { ShiftedClock } from '../../src/testing/shifted-clock.ts';

/**
 * The minter gives out GitHub tokens. Its key service, the keys of its issuer and its platform (GitHub) are slow, down
 * or wrong, one by one and together, while 200 requests a second arrive, one in ten of them hostile. Whatever happens:
 * no grant beyond what was requested and allowed, no answer after the caller gave up, only the documented statuses, and
 * full service again without a restart.
 */

const perSecond = 200;
const perPhase = 300;
const callerWaitsMs = 5_000;

interface Seen {
  status: number;
  text: string;
  ms: number;
  hostile: boolean;
}

let clock: ShiftedClock;
let world: MinterWorld;
let minter: RunningMinter;
let pool: Pool;

beforeAll(async () => {
  clock = new ShiftedClock();
  world = await startMinterWorld({ now: () => clock.now() });
  await world.writeRules({ '.yaml': agentRules() });
  // Every mint signs, so that every mint meets the faults of the key service.
  minter = await startMinter(world, { clock, env: { APP_JWT_REUSE_SECONDS: '0' } });
  await untilReady(minter);
  // Each request of a storm has a connection of its own, so no request waits on this side while others hang.
  pool = new Pool(minter.url, { connections: perPhase, pipelining: 1 });
});

afterAll(async () => {
  await pool.destroy();
  await minter.stop();
  await world.stop();
});

afterEach(() => {
  world.kms.clearFaults();
  world.platform.faults.clear();
  world.issuer.fault = undefined;
});

async function ask(hostile: boolean): Promise<Seen> {
  const email = hostile ? 'mallory@proj.iam.gserviceaccount.com' : agentEmail;
  const start = performance.now();
  const answer = await pool.request({
    path: '/token',
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-oidc-token': world.issuer.token(email, audience) },
    body: JSON.stringify({ org_name: 'acme', repositories: ['gitops'], scope: 'platform-agent-scope' }),
  });
  return { status: answer.statusCode, text: await answer.body.text(), ms: performance.now() - start, hostile };
}

/** Sends `perPhase` requests at the fixed rate, whether or not earlier ones are answered. */
function storm(): Promise<Seen[]> {
  return new Promise((resolve, reject) => {
    const sent: Promise<Seen>[] = [];
    const timer = setInterval(() => {
      sent.push(ask(sent.length % 10 === 9));
      if (sent.length < perPhase) return;
      clearInterval(timer);
      Promise.all(sent).then(resolve, reject);
    }, 1000 / perSecond);
  });
}

/** Checks what must hold for every answer, whatever the fault. */
function judge(seen: readonly Seen[]): { granted: number } {
  const granted = seen.filter((answer) => answer.status === 200);
  for (const answer of seen) {
    expect(answer.ms).toBeLessThan(callerWaitsMs);
    expect(answer.hostile ? [403, 503] : [200, 502, 503]).toContain(answer.status);
    if (answer.status !== 200) expect(answer.text).not.toMatch(/ghs_|eyJ/);
  }
  for (const { text } of granted) {
    expect(world.platform.state.tokens.get(text)).toMatchObject({
      repositories: ['gitops'],
      permissions: { metadata: 'read', contents: 'write', pull_requests: 'write', issues: 'write' },
    });
  }
  expect(new Set(granted.map((answer) => answer.text)).size).toBe(granted.length);
  return { granted: granted.length };
}

/** `answered` is the status of every request that the rules allow: 200 if the fault spares all that a grant needs. */
type Weather = [sentence: string, answered: 200 | 502 | 503, arrange: () => void];

const weathers: Weather[] = [
  ['a slow key service', 200, () => (world.kms.faults = { delayMs: 800 })],
  ['a key service that is down', 503, () => (world.kms.faults = { status: { code: 14, message: 'away' } })],
  ['a key service that never answers', 503, () => (world.kms.faults = { hang: ['AsymmetricSign'] })],
  ['a key service that signs with another key', 503, () => (world.kms.faults = { otherKey: testKey('stranger') })],
  ['a key service that damages signatures', 503, () => (world.kms.faults = { signatureCrc: 'wrong' })],
  ['a slow platform', 200, () => world.platform.faults.set('create_token', { delayMs: 900 })],
  ['a platform that is down', 502, () => world.platform.faults.set('create_token', { drop: true })],
  ['a platform that never answers', 502, () => world.platform.faults.set('create_token', { hang: true })],
  [
    'a platform that grants more than was requested',
    502,
    () =>
      world.platform.faults.set('create_token', {
        change: (body) => ({ ...body, permissions: { ...(body['permissions'] as object), administration: 'write' } }),
      }),
  ],
  [
    'a platform whose rate limit is reached',
    503,
    () => world.platform.faults.set('create_token', { status: 429, body: {} }),
  ],
  ['an issuer that does not serve its keys', 200, () => (world.issuer.fault = { status: 500 })],
  [
    'an issuer that serves a page instead of keys',
    200,
    () => (world.issuer.fault = { contentType: 'text/html', body: '<p>' }),
  ],
  [
    'several faults together',
    503,
    () => {
      world.kms.faults = { delayMs: 300, signatureCrc: 'wrong' };
      world.platform.faults.set('create_token', { delayMs: 900 });
      world.platform.faults.set('get_installation', { status: 500 });
      world.issuer.fault = { hang: true };
    },
  ],
];

test.each(weathers)(
  '%s: every allowed request is answered with %i, and service comes back without a restart',
  async (_sentence, answered, arrange) => {
    arrange();
    // The cached keys and the cached installation expire, so that the minter requests both again during the fault.
    clock.shift(11 * 60_000);
    const seen = await storm();
    judge(seen);
    const allowed = seen.filter(({ hostile }) => !hostile);
    expect(allowed).toHaveLength(perPhase * 0.9);
    expect([...new Set(allowed.map(({ status }) => status))]).toEqual([answered]);
    world.kms.clearFaults();
    world.platform.faults.clear();
    world.issuer.fault = undefined;
    clock.shift(11 * 60_000);
    await until('service again', () => ask(false), { good: (answer) => answer.status === 200, timeoutMs: 40_000 });
    await untilReady(minter);
  },
);

test('without a fault every request of the agent is granted, and every hostile request is refused', async () => {
  const seen = await storm();
  expect(judge(seen).granted).toBe(perPhase * 0.9);
  const hostile = seen.filter((answer) => answer.hostile).map(({ status }) => status);
  expect(hostile).toEqual(Array(perPhase * 0.1).fill(403));
});

test('no secret was logged in any of these tests', () => {
  expect(minter.output()).toContain('"decision":"allow"');
  expect(minter.output()).not.toMatch(/ghs_|PRIVATE KEY|eyJ[A-Za-z0-9_-]{20}/);
});
