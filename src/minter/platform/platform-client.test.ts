import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { deadlineIn } from '../deadline.ts';
import { PlatformClient, type PlatformAnswer, type PlatformOperation } from './platform-client.ts';

/** Stands still, so that a busy machine ends no call. */
let clock: FakeClock;
let server: Server;
let client: PlatformClient;
/** Requests without an answer so far. */
let open: ServerResponse[];

beforeEach(async () => {
  clock = new FakeClock();
  open = [];
  server = createServer((req, res) => {
    req.resume();
    open.push(res);
    res.on('close', () => void open.splice(open.indexOf(res), 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  client = new PlatformClient({ apiBaseUrl: `http://127.0.0.1:${port}`, userAgent: 'test', clock });
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const ask = (repositories: number, ms = 4_000): Promise<PlatformAnswer> =>
  client.call(
    'create_token',
    'jwt',
    { installation_id: 1, repositories: Array.from({ length: repositories }, (_, i) => `r${i}`) },
    deadlineIn(clock, ms),
  );
const reply = (res: ServerResponse, body: string): unknown =>
  res.writeHead(201, { 'content-type': 'application/json' }).end(body);
const kib = (count: number): string => JSON.stringify({ filler: 'x'.repeat(count * 1024 - 20) });

test.each([
  [1, 80],
  [100, 1_664],
])('for %i repositories, an answer of %i KiB is read, and a larger one is not', async (repositories, limit) => {
  const good = ask(repositories);
  reply(await until('the request', () => open[0]), kib(limit));
  expect((await good).status).toBe(201);
  const bad = expect(ask(repositories)).rejects.toMatchObject({ kind: 'too_large' });
  reply(await until('the request', () => open[0]), kib(limit + 1));
  await bad;
});

test('four answers that may be large are read at a time, and small ones beside them', async () => {
  const large = Array.from({ length: 6 }, () => ask(500));
  await until('four requests', () => open.length === 4);
  const small = ask(1);
  reply(await until('the small request', () => open[4]), '{}');
  await small;
  expect(open).toHaveLength(4);
  server.on('request', (_req, res) => reply(res, '{}'));
  for (const res of open) reply(res, '{}');
  expect((await Promise.all(large)).map(({ status }) => status)).toEqual(Array(6).fill(201));
});

test('a request for many repositories that finds no place before its deadline is not sent', async () => {
  const first = Array.from({ length: 4 }, () => ask(500));
  await until('four requests', () => open.length === 4);
  const late = expect(ask(500, 1_000)).rejects.toMatchObject({ kind: 'timeout' });
  await clock.advance(1_000);
  await late;
  expect(open).toHaveLength(4);
  for (const res of open) reply(res, '{}');
  await Promise.all(first);
});

test.each([
  [1, 10_900, 11_100],
  [100, 109_000, 111_000],
])('for %i repositories, an answer may have %i values, but not %i', async (repositories, few, many) => {
  const dataOf = async (count: number): Promise<unknown> => {
    const answer = ask(repositories);
    reply(await until('the request', () => open[0]), `[${Array(count).fill('"four"').join()}]`);
    return (await answer).data;
  };
  expect(await dataOf(few)).toHaveLength(few);
  expect(await dataOf(many)).toBeUndefined();
});

test('an answer of many numbers does not take seconds to parse', async () => {
  const answer = ask(500);
  const text = `[${'1,'.repeat(500_000)}1]`;
  const res = await until('the request', () => open[0]);
  const before = process.threadCpuUsage();
  reply(res, text);
  expect((await answer).data).toHaveLength(500_001);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(0.5);
});

describe('a limit of the platform', () => {
  const callOf = (operation: PlatformOperation): Promise<PlatformAnswer> =>
    client.call(operation, 'jwt', { org: 'acme', installation_id: 1 }, deadlineIn(clock, 4_000));
  const limit = (res: ServerResponse, seconds: number): unknown =>
    res.writeHead(429, { 'retry-after': String(seconds) }).end('{}');

  async function limitFor(operation: PlatformOperation, seconds: number): Promise<void> {
    const answer = callOf(operation);
    limit(await until('the request', () => open[0]), seconds);
    expect(await answer).toMatchObject({ status: 429, retryAfterSeconds: seconds });
    await until('the end of the request', () => open.length === 0);
  }

  test('holds back the calls of its operation until it ends, and no others', async () => {
    await limitFor('get_installation', 40);
    await clock.advance(10_500);
    expect(await callOf('get_installation')).toEqual({ status: 429, data: undefined, retryAfterSeconds: 30 });
    const other = callOf('create_token');
    reply(await until('the request', () => open[0]), '{}');
    expect((await other).status).toBe(201);
    await clock.advance(29_500);
    const again = callOf('get_installation');
    reply(await until('the request', () => open[0]), '{}');
    expect((await again).status).toBe(201);
  });

  const secondary = { message: 'You have exceeded a secondary rate limit.' };
  /** Seconds from now, as the platform states when the hour of a primary limit ends. */
  const resetIn = (seconds: number): string => String(Math.round(clock.now() / 1_000) + seconds);

  test.each<
    [sentence: string, status: number, headers: () => Record<string, string>, body: object, seconds: number | undefined]
  >([
    ['as the header says', 403, () => ({ 'retry-after': '40', 'x-ratelimit-remaining': '7' }), secondary, 40],
    [
      'until the reset of an exhausted limit',
      403,
      () => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': resetIn(900) }),
      {},
      900,
    ],
    ['until the reset, without a word on what remains', 429, () => ({ 'x-ratelimit-reset': resetIn(900) }), {}, 900],
    [
      'a minute, if only the message says so, and not until the reset of another limit',
      403,
      () => ({ 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': resetIn(900) }),
      secondary,
      60,
    ],
    [
      'a minute, if a 429 has requests left',
      429,
      () => ({ 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': resetIn(900) }),
      {},
      60,
    ],
    [
      'a minute, in the words of older servers',
      403,
      () => ({}),
      { message: 'You have triggered an abuse detection mechanism.' },
      60,
    ],
    [
      'not at all, if a 403 names a repository with the name of a limit',
      403,
      () => ({}),
      { message: 'not accessible: acme/abuse, acme/secondary-rate-limit' },
      undefined,
    ],
    [
      'not at all, if a 403 has another reason',
      403,
      () => ({ 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': resetIn(900) }),
      { message: 'suspended' },
      undefined,
    ],
  ])('lasts %s', async (_sentence, status, headers, body, seconds) => {
    const answer = callOf('create_token');
    const res = await until('the request', () => open[0]);
    res.writeHead(status, { 'content-type': 'application/json', ...headers() }).end(JSON.stringify(body));
    expect((await answer).retryAfterSeconds).toBe(seconds);
  });

  test('lasts an hour at most, whatever the platform says', async () => {
    const answer = callOf('create_token');
    limit(await until('the request', () => open[0]), 1e9);
    expect((await answer).retryAfterSeconds).toBe(3_600);
    expect((await callOf('create_token')).retryAfterSeconds).toBe(3_600);
  });

  test('is not shortened by the answer to a call that was sent before', async () => {
    const [first, second] = [callOf('create_token'), callOf('create_token')];
    await until('both requests', () => open.length === 2);
    const [one, other] = open;
    limit(one!, 40);
    await first;
    limit(other!, 20);
    await second;
    expect((await callOf('create_token')).retryAfterSeconds).toBe(40);
  });

  test('holds back no revocation', async () => {
    await limitFor('revoke_token', 40);
    const again = callOf('revoke_token');
    reply(await until('the request', () => open[0]), '{}');
    expect((await again).status).toBe(201);
  });
});
