import { once } from 'node:events';
import { get, request as httpRequest, type Server } from 'node:http';
import { connect as http2Connect, constants, type ClientHttp2Session } from 'node:http2';
import { connect, createServer, type Server as TcpServer, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { Registry } from 'prom-client';
import { createLogger, type Logger } from '../../base/logger.ts';
import { until } from '../../testing/until.ts';
import { createApiServer } from '../https-server.ts';
import { createCa, issueLeaf } from '../ca.ts';
import { closeServer, listen } from '../listen.ts';
import { fixedTls } from '../tls-material.ts';
import {
  createHttpServer,
  goneSignal,
  httpServerMetrics,
  writePart,
  type HttpHandler,
  type HttpLimits,
} from './index.ts';

let lines: string[];
let logger: Logger;
let registry: Registry;
let server: Server;
let port: number;
let answers: HttpHandler;
const sockets = new Set<Socket>();

beforeEach(() => {
  lines = [];
  logger = createLogger({ write: (line) => void lines.push(line) });
  registry = new Registry();
  answers = (req, res) => void res.end(`${req.method} ${req.url}`);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await closeServer(server, 0);
});

const quick = { headersMs: 300, requestMs: 600, keepAliveMs: 400, stalledMs: 300, lingerMs: 200 };
async function serve(limits: Partial<HttpLimits> = {}): Promise<void> {
  const metrics = httpServerMetrics(registry, 'svc_test');
  server = createHttpServer((req, res) => answers(req, res), { name: 'test', logger, metrics, limits });
  port = await listen('test', server, { host: '127.0.0.1', port: 0 });
}

async function refused(reason: string): Promise<number> {
  const { values } = (await registry.getSingleMetric('svc_test_listener_refused_total')!.get()) as {
    values: { labels: { reason?: string }; value: number }[];
  };
  return values.find(({ labels }) => labels.reason === reason)?.value ?? NaN;
}

/** A new connection. `text` resolves with all received text once the server closes the connection. */
function raw(bytes: string, from = '127.0.0.1'): { socket: Socket; text: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  sockets.add(socket);
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  socket.on('error', () => {});
  socket.write(bytes);
  return { socket, text: new Promise((resolve) => socket.on('close', () => resolve(text))) };
}

const status = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
const ask = (path = '/', from = '127.0.0.1'): Promise<number> =>
  new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, localAddress: from, agent: false }, (res) => {
      res.resume().on('error', reject);
      res.on('end', () => resolve(res.statusCode!));
    }).on('error', reject);
  });

test.each<[string, string, number]>([
  ['a target that is too long', `GET /${'a'.repeat(16 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ['a target beyond what the parser takes', `GET /${'a'.repeat(60 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(33 * 1024)}\r\n\r\n`, 431],
  ['headers beyond what the parser takes', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(50 * 1024)}\r\n\r\n`, 431],
  ['a target in authority form', 'GET host:80 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  ['CONNECT', 'CONNECT host:80 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
  ['two Content-Lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc', 400],
  [
    'a length together with chunks',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
  ],
  ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['a request line without a version', 'GET /\r\n\r\n', 400],
  ['data that is not HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
])('%s is refused and its connection closed', async (_name, bytes, expected) => {
  await serve();
  expect(status(await raw(bytes).text)).toBe(expected);
  expect(await ask()).toBe(200);
});

test('handlers see the target in origin form', async () => {
  await serve();
  expect(await raw('GET http://h/a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').text).toMatch(/GET \/a\?b$/);
});

describe.each<[string, HttpHandler]>([
  [
    'throws',
    () => {
      throw new TypeError('a fault');
    },
  ],
  ['rejects', () => Promise.reject(new TypeError('a fault'))],
])('a handler that %s', (_name, broken) => {
  test('causes one answer, one log line and one count', async () => {
    await serve();
    answers = broken;
    const text = await raw('GET /secret?token=x HTTP/1.1\r\nHost: x\r\n\r\n').text;
    expect(status(text)).toBe(500);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(text).not.toContain('a fault');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ msg: 'request failed', listener: 'test', path: '/secret', error: 'a fault' }),
    ]);
    expect(await refused('failed')).toBe(1);
  });
});

test('a handler that fails within its answer cuts the connection, and a late write does no harm', async () => {
  await serve();
  answers = async (_req, res) => {
    res.write('half');
    await new Promise(setImmediate);
    setImmediate(() => res.end('late'));
    throw new Error('no more');
  };
  await expect(ask()).rejects.toThrow();
  answers = (_req, res) => {
    res.end('done');
    res.write('after the end');
  };
  expect(await ask()).toBe(200);
  expect(await refused('failed')).toBe(1);
});

test('a caller that sends its headers or its body too slowly gets 408 at the time limit', async () => {
  await serve({ ...quick, stalledMs: 5_000 });
  answers = (req, res) => void req.resume().on('end', () => res.end());
  const started = performance.now();
  const [silent, headers, body] = await Promise.all([
    raw('').text,
    raw('GET / HTTP/1.1\r\nHo').text,
    raw('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab').text,
  ]);
  expect([silent === '' || status(silent) === 408, status(headers), status(body)]).toEqual([true, 408, 408]);
  expect(performance.now() - started).toBeLessThan(quick.requestMs + 1_000);
  expect(await refused('timeout')).toBeGreaterThanOrEqual(2);
});

test('an idle stream is not cut, but a caller that does not read its answer is', async () => {
  await serve(quick);
  let finish = (): void => {};
  answers = (req, res) => {
    res.write('first ');
    if (req.url === '/quiet') finish = () => void res.end('last');
    else res.write(Buffer.alloc(32 * 1024 * 1024));
  };
  const quiet = raw('GET /quiet HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const stuck = raw('GET /big HTTP/1.1\r\nHost: x\r\n\r\n');
  stuck.socket.pause();
  while ((await refused('timeout')) === 0) await new Promise(setImmediate);
  finish();
  expect(await quiet.text).toMatch(/last/);
});

test('a caller that floods the server with connections loses its own, not those of others', async () => {
  await serve({ connections: 20, connectionsPerAddress: 15 });
  const kept = raw('GET / HTTP/1.1\r\nHost: x\r\n\r\n', '127.0.0.1').socket;
  await once(kept, 'data');
  const flood = (from: string): Socket[] => Array.from({ length: 40 }, () => raw('GET / HTTP/1.1\r\n', from).socket);
  const floods = [...flood('127.0.0.2'), ...flood('127.0.0.3')];
  for (let i = 0; i < 5; i++) expect(await ask('/', '127.0.0.1')).toBe(200);
  while (floods.filter((socket) => !socket.closed).length > 19) await new Promise(setImmediate);
  expect(await refused('connections')).toBeGreaterThan(0);
  kept.write('GET /still HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(String(await once(kept, 'data'))).toMatch(/GET \/still$/);
});

test('a connection that waits for an answer is not closed for a new one, even if it sends a next request', async () => {
  await serve({ connections: 1 });
  const arrived: string[] = [];
  let answer = (): void => {};
  answers = (req, res) => {
    arrived.push(req.url!);
    if (req.url === '/first') answer = () => void res.end('answered');
  };
  const next = 'POST /second HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n';
  const both = raw(`GET /first HTTP/1.1\r\nHost: x\r\n\r\n${next}`);
  while (arrived.length < 2) await new Promise(setImmediate);
  await expect(ask()).rejects.toThrow();
  answer();
  both.socket.once('data', () => both.socket.destroy());
  expect(await both.text).toMatch(/answered$/);
});

test('probe paths are answered while requests are at their limit and other paths are refused', async () => {
  await serve({ requests: 3, reservedPaths: ['/readyz'] });
  const held: (() => void)[] = [];
  answers = (req, res) => void (req.url === '/slow' ? held.push(() => res.end()) : res.end());
  const slow = [1, 2, 3].map(() => ask('/slow'));
  while (held.length < 3) await new Promise(setImmediate);
  expect([await ask('/readyz'), await ask('/other')]).toEqual([200, 503]);
  for (const answer of held) answer();
  expect(await Promise.all(slow)).toEqual([200, 200, 200]);
  expect(await ask('/other')).toBe(200);
});

test('too many requests in flight on one connection end the connection', async () => {
  await serve({ pipelined: 4 });
  answers = () => {};
  await raw('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50)).text;
  expect(await refused('flood')).toBe(1);
});

test('the body of an answered request is discarded for a while, then the connection is cut', async () => {
  const lingerMs = 1_000;
  await serve({ lingerMs });
  const started = performance.now();
  const { socket, text } = raw('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const drip = setInterval(() => socket.write('1\r\na\r\n'), 20);
  expect(status(await text)).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(0.9 * lingerMs);
  clearInterval(drip);
});

test('connections are counted while they are open', async () => {
  await serve();
  const { socket } = raw('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  expect(await registry.metrics()).toContain('svc_test_listener_connections{listener="test"} 1');
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.destroy();
  await closed;
  while (!(await registry.metrics()).includes('listener_connections{listener="test"} 0'))
    await new Promise(setImmediate);
});

describe('over HTTP/2', () => {
  let ca: string;
  let client: ClientHttp2Session | undefined;
  afterEach(() => client?.destroy());
  async function serveTls(limits: Partial<HttpLimits> = {}): Promise<void> {
    const now = Date.now();
    const authority = await createCa({ commonName: 'svc-ca', now });
    const leaf = await issueLeaf(authority, { commonName: 'svc-query', dnsNames: ['localhost'] }, { now });
    ca = authority.cert;
    const metrics = httpServerMetrics(registry, 'svc_test');
    const tls = fixedTls({ cert: leaf.cert, key: leaf.key, ca });
    server = createApiServer(tls, (req, res) => answers(req, res), { name: 'test', logger, metrics, limits });
    port = await listen('test', server, { host: '127.0.0.1', port: 0 });
  }
  const open = (): Promise<ClientHttp2Session> =>
    new Promise((resolve, reject) => {
      const session = http2Connect(`https://localhost:${port}`, { ca, host: '127.0.0.1' } as object);
      client = session;
      session.on('error', reject).on('connect', () => resolve(session));
    });
  const fetchStatus = (session: ClientHttp2Session, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request(headers);
      stream.on('response', (head) => resolve(Number(head[':status']))).on('error', reject);
      stream.resume().end();
    });
  const ended = (session: ClientHttp2Session): Promise<void> =>
    new Promise((resolve) => {
      session.on('error', () => {});
      session.on('close', () => resolve());
    });

  test('targets are judged as on HTTP/1.1', async () => {
    await serveTls();
    const session = await open();
    expect(await fetchStatus(session, { ':path': `/${'a'.repeat(17_000)}` })).toBe(414);
    expect(await fetchStatus(session, { ':path': '//' })).toBe(200);
  });

  test('a handler that rejects is answered, logged and counted once', async () => {
    await serveTls();
    answers = () => Promise.reject(new Error('a fault'));
    expect(await fetchStatus(await open(), { ':path': '/' })).toBe(500);
    expect([lines.length, await refused('failed')]).toEqual([1, 1]);
  });

  test.each<[string, (session: ClientHttp2Session) => void]>([
    ['PING', (session) => session.ping(() => {})],
    ['SETTINGS', (session) => session.settings({ initialWindowSize: 70_000 }, () => {})],
  ])('a flood of %s frames ends the session, not the server', async (_name, send) => {
    await serveTls({ controlFrames: 20 });
    const session = await open();
    let over = false;
    const end = ended(session).then(() => (over = true));
    for (let i = 0; i < 10_000 && !over && !session.destroyed; i++) {
      send(session);
      await new Promise(setImmediate);
    }
    await end;
    expect(await fetchStatus(await open(), { ':path': '/' })).toBe(200);
    expect(await refused('flood')).toBe(1);
  });

  test('a client that resets stream after stream loses its session', async () => {
    await serveTls();
    answers = () => {};
    const session = await open();
    const end = ended(session);
    for (let i = 0; i < 3_000 && !session.destroyed; i++) {
      const stream = session.request({ ':path': '/' });
      stream.on('error', () => {});
      await new Promise(setImmediate); // in one write, request and reset would cancel out before they are sent
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await end;
    answers = (_req, res) => void res.end();
    expect(await fetchStatus(await open(), { ':path': '/' })).toBe(200);
  });

  test('a session without a preface, and a stream whose body never ends, are cut at the time limit', async () => {
    await serveTls(quick);
    answers = () => {};
    const silent = tlsConnect({ port, host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['h2'] });
    const silentEnds = new Promise((resolve) =>
      silent
        .on('close', resolve)
        .on('error', () => {})
        .resume(),
    );
    const session = await open();
    const stream = session.request({ ':path': '/', ':method': 'POST' }, { endStream: false });
    const streamEnds = new Promise((resolve) => stream.on('close', resolve).on('error', () => {}));
    await Promise.all([silentEnds, streamEnds]);
    expect(await refused('timeout')).toBe(2);
  });

  test('an idle session is ended, also one whose stream was quiet for longer than the limit', async () => {
    await serveTls({ sessionIdleMs: 1_000 });
    const asked = Promise.withResolvers<() => void>();
    answers = (_req, res) => void (res.write('first'), asked.resolve(() => res.end('last')));
    const quiet = await open();
    const over = ended(quiet);
    const stream = quiet.request({ ':path': '/' });
    const text = stream.setEncoding('utf8').toArray();
    const answer = await asked.promise;
    await once(stream, 'response');
    await ended(await open()); // the time of the session above is over, too
    expect(quiet.closed).toBe(false);
    answer();
    expect((await text).join('')).toBe('firstlast');
    await over;
  });

  test('a caller that does not read its answer loses it, also when the answer was long in coming', async () => {
    await serveTls({ stalledMs: 300 });
    const asked = Promise.withResolvers<() => void>();
    const large = Buffer.alloc(32 * 1024 * 1024);
    answers = (req, res) => void (req.url === '/slow' ? asked.resolve(() => res.end(large)) : res.end(large));
    const [slow, other] = [await open(), await open()];
    const unread = (session: ClientHttp2Session, path: string): void =>
      void session.request({ ':path': path }).on('error', () => {});
    unread(slow, '/slow');
    const answer = await asked.promise;
    unread(other, '/at-once');
    await until('the answer that came at once is cut', async () => (await refused('timeout')) === 1);
    expect(slow.closed).toBe(false);
    answer();
    await until('the answer that was long in coming is cut', async () => (await refused('timeout')) === 2);
    slow.destroy();
  });

  describe('a caller that reads nothing from its connection any more', () => {
    const middles: TcpServer[] = [];
    afterEach(() => void middles.splice(0).forEach((middle) => middle.close()));

    /** A session with large windows; after `stop`, its side takes in no more bytes. */
    async function openStoppable(): Promise<{ session: ClientHttp2Session; stop: () => void }> {
      let stop = (): void => {};
      const middle = createServer((near) => {
        const far = connect({ port, host: '127.0.0.1' });
        for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
        near.pipe(far).pipe(near);
        stop = () => void far.unpipe(near).pause();
      });
      middles.push(middle);
      const at = await listen('test', middle, { host: '127.0.0.1', port: 0 });
      const settings = { initialWindowSize: 2 ** 31 - 1 };
      const session = http2Connect(`https://localhost:${at}`, { ca, host: '127.0.0.1', settings } as object);
      client = session;
      await once(
        session.on('error', () => {}),
        'connect',
      );
      session.setLocalWindowSize(2 ** 31 - 1);
      return { session, stop: () => stop() };
    }
    const ask = (session: ClientHttp2Session) => session.request({ ':path': '/' }).on('error', () => {});
    const connections = async (): Promise<number> =>
      (await registry.getSingleMetric('svc_test_listener_connections')!.get()).values[0]!.value;
    /** Answers of 32 MiB; counts the requests that have come and gone. */
    function large(): { come: number; gone: number } {
      const count = { come: 0, gone: 0 };
      answers = async (_req, res) => {
        count.come++;
        res.on('close', () => count.gone++);
        const gone = goneSignal(res);
        for (let i = 0; i < 32; i++) await writePart(res, Buffer.alloc(1024 * 1024), gone);
        res.end();
      };
      return count;
    }

    test('loses its requests and its connection', async () => {
      await serveTls({ stalledMs: 200 });
      const count = large();
      const { session, stop } = await openStoppable();
      stop();
      for (let i = 0; i < 2; i++) ask(session);
      await until('both requests have come', () => count.come === 2);
      await until('both requests have gone', () => count.gone === 2);
      await until('the connection is closed', async () => (await connections()) === 0);
      expect(await refused('timeout')).toBe(2);
    });

    test('loses its connection also when it has reset its requests', async () => {
      await serveTls({ sessionIdleMs: 200, lingerMs: 100 });
      const count = large();
      const { session, stop } = await openStoppable();
      stop();
      const stream = ask(session);
      await until('the request has come', () => count.come === 1);
      stream.close(constants.NGHTTP2_CANCEL);
      await until('the request has gone', () => count.gone === 1);
      await until('the connection is closed', async () => (await connections()) === 0);
    });
  });

  test.each([
    ['without a body', undefined],
    ['whose body nobody has read', 'body'],
  ])('a request %s that waits for its answer keeps its session at the limit of requests', async (_what, body) => {
    await serveTls({ requests: 1 });
    const asked = Promise.withResolvers<() => void>();
    answers = (req, res) => void (req.url === '/a' ? asked.resolve(() => void res.end()) : res.end());
    const session = await open();
    const held = session.request({ ':path': '/a', ':method': body ? 'POST' : 'GET' });
    const status = once(held, 'response').then(([head]) => (head as Record<string, unknown>)[':status']);
    held.resume().end(body);
    const answer = await asked.promise;
    const other = await open();
    expect(await fetchStatus(other, { ':path': '/b' })).toBe(503);
    answer();
    expect(await status).toBe(200);
    session.destroy();
  });

  test('a request that is still arriving gives way at the limit of requests', async () => {
    await serveTls({ requests: 1 });
    const asked = Promise.withResolvers<void>();
    answers = (req, res) => void (req.url === '/a' ? asked.resolve() : res.end());
    const session = await open();
    const end = ended(session);
    session.request({ ':path': '/a', ':method': 'POST' }, { endStream: false }).on('error', () => {});
    await asked.promise;
    expect(await fetchStatus(await open(), { ':path': '/b' })).toBe(200);
    await end;
  });

  test('a connection without a TLS handshake is closed', async () => {
    await serveTls(quick);
    const { socket, text } = raw('');
    await text;
    expect(socket.destroyed).toBe(true);
  });
});

test('a request with an unknown Expect header is subject to the limits, too', async () => {
  await serve();
  const expecting = (path: string) =>
    new Promise<number>((resolve) => {
      const target = { port, host: '127.0.0.1', path, agent: false as const };
      const req = httpRequest({ ...target, headers: { expect: 'nonsense' } }, (res) => {
        res.resume();
        resolve(res.statusCode!);
      });
      req.end();
    });
  expect(await expecting('/')).toBe(200);
  expect(await expecting(`/${'a'.repeat(16 * 1024)}`)).toBe(414);
});
