import { Agent, get, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect as http2Connect, type ClientHttp2Session } from 'node:http2';
import type { Clock } from '../base/clock.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { createApiServer } from './https-server.ts';
import { createCa, issueLeaf } from './ca.ts';
import { untilQuiet } from './drain.ts';
import { createHttpServer, type HttpHandler } from './http/index.ts';
import { closeServer, listen } from './listen.ts';
import { fixedTls } from './tls-material.ts';

const clock = new FakeClock();
const options = { clock, quietMs: 3_000, latestMs: 10_000 };
const drain = (quietMs = options.quietMs): Promise<void> =>
  untilQuiet([server], { ...options, quietMs }).then(() => closeServer(server, 1_000));
let server: Server;
let port: number;
let answer: HttpHandler;
beforeEach(async () => {
  answer = (_req, res) => void res.end('ok');
  server = createHttpServer((req, res) => answer(req, res));
  port = await listen('test', server, { host: '127.0.0.1', port: 0 });
});
afterEach(() => closeServer(server, 0));

const ask = (agent: Agent | false = false): Promise<IncomingHttpHeaders> =>
  new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', agent }, (res) => res.resume().on('end', () => resolve(res.headers))).on(
      'error',
      reject,
    );
  });

test('the server accepts connections until none has come for three seconds, then closes', async () => {
  let over = false;
  const drained = drain().then(() => (over = true));
  await clock.advance(2_000);
  expect((await ask()).connection).toBe('close');
  await clock.advance(2_900);
  expect([over, server.listening]).toEqual([false, true]);
  await clock.advance(200);
  expect(server.listening).toBe(false);
  await drained;
  await expect(ask()).rejects.toThrow(/ECONNREFUSED/);
});

test('a connection that came while the process was stalled is served, and restarts the quiet time', async () => {
  let mono = 0;
  let fire = (): void => {};
  const stalled: Clock = {
    now: () => 0,
    monotonic: () => mono,
    setTimeout: (fn) => {
      fire = fn;
      return () => {};
    },
  };
  const drained = untilQuiet([server], { ...options, clock: stalled }).then(() => closeServer(server, 1_000));
  await settle();
  const asked = ask();
  // The kernel has the connection; time passes before the event loop can accept it.
  for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => process.nextTick(resolve));
  mono = 3_100;
  fire();
  expect((await asked).connection).toBe('close');
  expect(server.listening).toBe(true);
  mono = 6_200;
  fire();
  await drained;
  expect(server.listening).toBe(false);
});

test('new connections that never stop keep the server open for no longer than latestMs', async () => {
  const drained = drain();
  for (let i = 0; i < 10; i++) {
    await ask();
    await clock.advance(1_000);
  }
  await drained;
  expect(server.listening).toBe(false);
});

test('a keep-alive connection gets one more answer, which closes it', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect((await ask(agent)).connection).toBe('keep-alive');
  const drained = drain();
  expect((await ask(agent)).connection).toBe('close');
  await clock.advance(10_000);
  await drained;
  agent.destroy();
});

test('a request in flight when the listener closes is answered', async () => {
  let release = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    answer = (_req, res) => {
      release = () => void res.end('ok');
      resolve();
    };
  });
  const slow = ask();
  await arrived;
  const drained = drain(0);
  while (server.listening) await new Promise(setImmediate);
  release();
  expect(await slow).toBeDefined();
  await drained;
});

test('an HTTP/2 session gets a GOAWAY once all of its streams are answered', async () => {
  await closeServer(server, 0);
  const now = Date.now();
  const ca = await createCa({ commonName: 'svc-ca', now });
  const leaf = await issueLeaf(ca, { commonName: 'svc-query', dnsNames: ['localhost'] }, { now });
  server = createApiServer(fixedTls({ ...leaf, ca: ca.cert }), (req, res) => answer(req, res));
  port = await listen('test', server, { host: '127.0.0.1', port: 0 });
  const open = (): Promise<ClientHttp2Session> =>
    new Promise((resolve) => {
      const session = http2Connect(`https://localhost:${port}`, { ca: ca.cert, host: '127.0.0.1' } as object);
      session.on('connect', () => resolve(session));
    });
  const status = (session: ClientHttp2Session): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/' });
      stream.on('response', (head) => resolve(Number(head[':status']))).on('error', reject);
      stream.resume();
    });
  let release = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    answer = (_req, res) => {
      release = () => void res.end('ok');
      resolve();
    };
  });
  const session = await open();
  const inFlight = status(session);
  await arrived;
  let isTold = false;
  const told = new Promise((resolve) => session.once('goaway', resolve)).finally(() => (isTold = true));
  const drained = drain();
  const finishFirst = release;
  answer = (_req, res) => void res.end('ok');
  expect(await status(session)).toBe(200); // opened while the first is still under way
  const late = await open();
  const lateTold = new Promise((resolve) => late.once('goaway', resolve));
  expect(await status(late)).toBe(200);
  expect([await lateTold, isTold]).toEqual([0, false]);
  finishFirst();
  expect([await inFlight, await told]).toEqual([200, 0]);
  await clock.advance(10_000);
  await drained;
});
