import type { IncomingMessage } from 'node:http';
import { createLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { bearerToken, TokenAuth, type ReviewClient } from './token-auth.ts';

const request = (authorization?: string, remoteAddress = '10.1.2.3'): IncomingMessage =>
  ({ headers: { authorization }, socket: { remoteAddress } }) as unknown as IncomingMessage;

function reviews(): ReviewClient & { calls: string[]; allow: boolean; down: boolean } {
  return {
    calls: [],
    allow: true,
    down: false,
    reviewToken(token) {
      this.calls.push(`token ${token}`);
      if (this.down) return Promise.reject(new Error('connection refused'));
      return Promise.resolve(token.startsWith('good') ? { username: `system:${token}` } : undefined);
    },
    mayAccessPath(user, verb, path) {
      this.calls.push(`${user.username} ${verb} ${path}`);
      return Promise.resolve(this.allow);
    },
  };
}

function subject(loopbackExempt = true) {
  const review = reviews();
  const clock = new FakeClock();
  const log: string[] = [];
  const logger = createLogger({ write: (line) => void log.push(line) });
  return { auth: new TokenAuth({ reviews: review, clock, logger, loopbackExempt }), review, clock, log };
}

test.each(['127.0.0.6', '::ffff:127.0.0.6', '127.0.0.11', '127.1.2.3', '::ffff:7f00:6', '', undefined])(
  'a connection that a proxy forwards from %p needs a token',
  async (address) => {
    const { auth } = subject();
    expect(await auth.decide(request(undefined, address), 'get', '/metrics')).toMatchObject({ status: 401 });
  },
);

test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
  'a caller on the loopback address %s needs no token',
  async (address) => {
    const { auth, review } = subject();
    expect(await auth.decide(request(undefined, address), 'get', '/metrics')).toEqual({ allowed: true });
    expect(review.calls).toEqual([]);
  },
);

test('the loopback exemption can be withdrawn', async () => {
  const { auth } = subject(false);
  expect(await auth.decide(request(undefined, '127.0.0.1'), 'get', '/metrics')).toMatchObject({
    allowed: false,
    status: 401,
  });
});

test.each([
  ['no header', undefined, 401, []],
  ['another scheme', 'Basic Z29vZA==', 401, []],
  ['an unknown token', 'Bearer bad', 401, ['token bad']],
  ['a known token', 'Bearer good', undefined, ['token good', 'system:good get /metrics']],
])('with %s the answer has the right status; only bearer tokens are reviewed', async (_what, header, status, asked) => {
  const { auth, review } = subject();
  const decision = await auth.decide(request(header), 'get', '/metrics');
  expect(decision.allowed ? undefined : decision.status).toBe(status);
  expect(review.calls).toEqual(asked);
});

test('an authenticated user without the permission gets 403 that names user and path', async () => {
  const { auth, review } = subject();
  review.allow = false;
  expect(await auth.decide(request('Bearer good'), 'get', '/metrics')).toEqual({
    allowed: false,
    status: 403,
    message: 'system:good may not get /metrics',
  });
});

test('a decision is reused for ten seconds; then the token is reviewed again', async () => {
  const { auth, review, clock } = subject();
  await auth.decide(request('Bearer good'), 'get', '/metrics');
  review.allow = false;
  await clock.advance(9_999);
  expect(await auth.decide(request('Bearer good'), 'get', '/metrics')).toMatchObject({ allowed: true });
  expect(review.calls).toHaveLength(2);
  await clock.advance(2);
  expect(await auth.decide(request('Bearer good'), 'get', '/metrics')).toMatchObject({ status: 403 });
});

test('a cached allowance of one token never applies to another token', async () => {
  const { auth } = subject();
  await auth.decide(request('Bearer good'), 'get', '/metrics');
  expect(await auth.decide(request('Bearer bad'), 'get', '/metrics')).toMatchObject({ status: 401 });
});

test('simultaneous requests with one token share one review', async () => {
  const { auth, review } = subject();
  const decisions = await Promise.all([1, 2, 3].map(() => auth.decide(request('Bearer good'), 'get', '/metrics')));
  expect(decisions.every(({ allowed }) => allowed)).toBe(true);
  expect(review.calls).toHaveLength(2);
});

test('reviews of made-up tokens from one address are limited; known tokens and other addresses get in', async () => {
  const { auth, review, clock } = subject();
  await auth.decide(request('Bearer good'), 'get', '/metrics');
  const refused: unknown[] = [];
  for (let i = 0; i < 500; i++) {
    const decision = await auth.decide(request(`Bearer bad${i}`), 'get', '/metrics');
    if (!decision.allowed && decision.status === 429) refused.push(decision.message);
  }
  expect(refused).toHaveLength(381);
  expect(refused[0]).toMatch(/^too many tokens are shown; try again in \d+ s$/);
  expect(review.calls).toHaveLength(2 + 119);
  await clock.advance(10_001);
  expect(await auth.decide(request('Bearer good'), 'get', '/metrics')).toMatchObject({ allowed: true });
  expect(await auth.decide(request('Bearer good-too', '10.9.9.9'), 'get', '/metrics')).toMatchObject({ allowed: true });
});

test('reviews of one peer count together, whether it is shown as IPv4 or as IPv4 inside IPv6', async () => {
  const { auth, review } = subject();
  const addresses = ['1.2.3.4', '::ffff:1.2.3.4'];
  for (let i = 0; i < 200; i++) await auth.decide(request(`Bearer bad${i}`, addresses[i % 2]), 'get', '/metrics');
  expect(review.calls).toHaveLength(120);
});

test('reviews of made-up tokens from many addresses are limited', async () => {
  const { auth, review } = subject();
  for (let i = 0; i < 2_000; i++) await auth.decide(request(`Bearer bad${i}`, `10.0.${i >> 8}.${i & 255}`), 'get', '/');
  expect(review.calls).toHaveLength(1_200);
});

test('an unreachable API server gives 503, which is not cached, and the log has the cause', async () => {
  const { auth, review, log } = subject();
  review.down = true;
  expect(await auth.decide(request('Bearer good'), 'get', '/metrics')).toMatchObject({ status: 503 });
  expect(log).toEqual([expect.stringMatching(/"level":"warn".*could not be reviewed.*connection refused/)]);
  expect(log[0]).not.toContain('good');
  review.down = false;
  expect(await auth.decide(request('Bearer good'), 'get', '/metrics')).toMatchObject({ allowed: true });
});

test.each([
  ['that is empty', ''],
  ['of the scheme alone', 'Bearer'],
  ['of the scheme and spaces', 'Bearer  '],
  ['with a space in the token', 'Bearer a b'],
  ['with a comma in the token', 'Bearer a,b'],
  ['of twenty thousand characters', `Bearer ${'x'.repeat(20_000)}`],
])('a header %s gives no token', (_what, header) => {
  expect(bearerToken(header)).toBeUndefined();
});

test('while no caller can be reviewed, the cause is logged once a minute, however many callers come', async () => {
  const { auth, review, clock, log } = subject();
  review.down = true;
  for (let i = 0; i < 20; i++) await auth.decide(request(`Bearer t${i}`), 'get', '/metrics');
  expect(log).toEqual([expect.stringContaining('connection refused')]);
  await clock.advance(60_000);
  for (let i = 0; i < 20; i++) await auth.decide(request(`Bearer u${i}`), 'get', '/metrics');
  expect(log).toHaveLength(2);
});
