import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { deadlineIn } from '../deadline.ts';
import { PlatformClient, type PlatformAnswer } from './platform-client.ts';

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

test('an answer of many numbers does not take seconds to parse', async () => {
  const answer = ask(64);
  const text = `[${'1,'.repeat(500_000)}1]`;
  const res = await until('the request', () => open[0]);
  const before = process.threadCpuUsage();
  reply(res, text);
  expect((await answer).data).toHaveLength(500_001);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(0.5);
});
