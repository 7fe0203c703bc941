import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { silentLogger } from '../../base/logger.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { until } from '../../testing/until.ts';
import type { FramedHandler } from '../partial/admission.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { partialRoute } from './framed-server.ts';
import { routed } from './routes.ts';

const metrics = createSelfMetrics({ node: 'n', version: '0' });
let handler: FramedHandler;
let port: number;
const server = createServer(
  routed([partialRoute({ handler: (body, signal) => handler(body, signal), metrics, logger: silentLogger })]),
);
beforeAll(async () => (port = await listen('framed', server, { host: '127.0.0.1', port: 0 })));
beforeEach(() => metrics.partialRequests.reset());
afterAll(() => closeServer(server, 0));

const ask = () => request({ port, host: '127.0.0.1', method: 'POST', path: '/api/v1/partial' });
const codes = async () => (await metrics.partialRequests.get()).values.map(({ labels }) => labels.code);

test.each([
  ['small', 3],
  ['large', 100_000],
])('a %s answer has all of its frames in order, and its length in a header', async (_, length) => {
  const frames = ['a', 'b', 'c'].map((letter) => Buffer.from(letter.repeat(length)));
  let signal: AbortSignal | undefined;
  handler = (_body, given) => {
    signal = given;
    return Promise.resolve({ frames, bytes: 3 * length });
  };
  const before = (await metrics.partialBytes.get()).values[0]?.value ?? 0;
  const [res] = (await once(ask().end('x'), 'response')) as [IncomingMessage];
  expect(res.headers).toMatchObject({
    'content-length': String(3 * length),
    'content-type': 'application/x-svc-partial; v=1',
  });
  expect(await text(res)).toBe(Buffer.concat(frames).toString());
  expect((await metrics.partialBytes.get()).values[0]!.value - before).toBe(3 * length);
  expect(signal!.aborted).toBe(false);
  expect(await codes()).toEqual(['200']);
});

test('the work for a client that disconnected is aborted, and its request counts as given up', async () => {
  const aborted = new Promise<unknown>((resolve) => {
    handler = (_body, signal) =>
      new Promise((_, reject) => {
        req.destroy();
        signal.addEventListener('abort', () => {
          resolve(signal.reason);
          reject(signal.reason as Error);
        });
      });
  });
  const req = ask();
  req.on('error', () => {}).end('x');
  expect(await aborted).toMatchObject({ message: 'the client disconnected' });
  await until('the count', async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['499']);
});

test.each([10, 1])(
  'a request that is given up in the middle of an answer of %i frames counts as such',
  async (count) => {
    const frames = Array.from({ length: count }, () => Buffer.alloc(10 * 2 ** 20));
    handler = () => Promise.resolve({ frames, bytes: count * 10 * 2 ** 20 });
    const req = ask();
    req.on('error', () => {}).on('response', () => req.destroy());
    req.end('x');
    await until('the count', async () => (await codes()).length > 0);
    expect(await codes()).toEqual(['499']);
  },
);

test('a request that is given up before it is refused counts as such', async () => {
  handler = async (_body, signal) => {
    req.destroy();
    await once(signal, 'abort');
    return { refusal: 'busy', message: 'later' };
  };
  const req = ask();
  req.on('error', () => {}).end('x');
  await until('the count', async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['499']);
});

test('a request that is refused counts with its status', async () => {
  handler = () => Promise.resolve({ refusal: 'busy', message: 'later' });
  const [res] = (await once(ask().end('x'), 'response')) as [IncomingMessage];
  expect(res.statusCode).toBe(429);
  expect(await text(res)).toContain('later');
  expect(await codes()).toEqual(['429']);
});
