import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createLogger } from '../../base/logger.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { until } from '../../testing/until.ts';
import { type RemoteReadHandler, remoteReadPath } from '../../tsdb/index.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { remoteReadRoute } from './remote-read-server.ts';
import { routed } from './routes.ts';

const metrics = createSelfMetrics({ node: 'n', version: '0' });
const lines: string[] = [];
const logger = createLogger({ write: (line) => void lines.push(line) });
let handler: RemoteReadHandler;
let port: number;
const server = createServer(routed([remoteReadRoute({ handler: (read) => handler(read), metrics, logger })]));
beforeAll(async () => (port = await listen('remote-read', server, { host: '127.0.0.1', port: 0 })));
beforeEach(() => {
  lines.length = 0;
  metrics.remoteReadRequests.reset();
});
afterAll(() => closeServer(server, 0));

const ask = () => request({ port, host: '127.0.0.1', method: 'POST', path: remoteReadPath }).on('error', () => {});
const codes = async () => (await metrics.remoteReadRequests.get()).values.map(({ labels }) => labels.code);

/** Work that ends with the reason of the signal, as that of a store does. */
const endsWith = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

test.each<[string, (cut: () => void) => RemoteReadHandler]>([
  [
    'before its answer began',
    (cut) =>
      ({ signal }) => {
        cut();
        return endsWith(signal!);
      },
  ],
  [
    'in the middle of its answer',
    (cut) =>
      ({ signal }) => {
        async function* body(): AsyncGenerator<Uint8Array> {
          yield Buffer.from('a');
          cut();
          await endsWith(signal!);
        }
        return Promise.resolve({ status: 200, headers: {}, body: body() });
      },
  ],
])('a read whose client disconnects %s counts as cancelled, not as failed', async (_when, answering) => {
  const req = ask();
  handler = answering(() => req.destroy());
  req.end('x');
  await until('the count', async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['499']);
  expect(lines).toEqual([]);
});

test('a read that is answered counts with its status', async () => {
  handler = () =>
    Promise.resolve({ status: 200, headers: {}, body: Readable.from([Buffer.from('a'), Buffer.from('b')]) });
  const [res] = (await once(ask().end('x'), 'response')) as [IncomingMessage];
  expect(await text(res)).toBe('ab');
  await until('the count', async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['200']);
});

test('a read that fails in the middle of its answer counts with the status that it began with', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    await Promise.resolve();
    throw new Error('the disk');
  }
  handler = () => Promise.resolve({ status: 200, headers: {}, body: body() });
  ask().end('x');
  await until('the count', async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['200']);
  expect(lines.join()).toContain('the disk');
});

test('a read that fails is logged and counted', async () => {
  handler = () => Promise.reject(new Error('the disk'));
  ask().end('x');
  await until('the count', async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['500']);
  expect(lines.join()).toContain('the disk');
});
