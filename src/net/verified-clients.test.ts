import { once } from 'node:events';
import { createConnection } from 'node:net';
import { Agent, request, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type TLSSocket } from 'node:tls';
import { RotatingTls } from '../testing/rotating-tls.ts';
import { until } from '../testing/until.ts';
import { createCa, issueLeaf, type KeyPairPem } from './ca.ts';
import { createTlsServer, type TlsServerOptions } from './https-server.ts';
import { closeServer, listen } from './listen.ts';
import { TlsClient } from './tls-client.ts';
import { fixedTls, type TlsMaterial } from './tls-material.ts';

const now = Date.now();
const names = { commonName: 'svc-controller', dnsNames: ['localhost'] };
const servers: Server[] = [];
const agents: Agent[] = [];
let before: KeyPairPem;
let after: KeyPairPem;
/** The client's certificate, of the authority that goes. */
let client: KeyPairPem;
let tls: RotatingTls;

/** The server's identity. The server trusts clients of these authorities. */
async function identity(of: KeyPairPem, ...trusted: KeyPairPem[]): Promise<TlsMaterial> {
  return { ...(await issueLeaf(of, names, { now })), ca: trusted.map(({ cert }) => cert).join('') };
}

beforeAll(async () => {
  [before, after] = await Promise.all([
    createCa({ commonName: 'svc-ca', now }),
    createCa({ commonName: 'svc-ca', now }),
  ]);
  client = await issueLeaf(before, names, { now });
});
beforeEach(async () => void (tls = new RotatingTls(await identity(before, before))));
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await Promise.all(servers.splice(0).map((server) => closeServer(server, 0)));
});

async function serve(
  handler: (req: IncomingMessage, res: ServerResponse) => unknown,
  options: TlsServerOptions = { clientNames: ['svc-controller'] },
): Promise<number> {
  const server = createTlsServer(tls, handler, options);
  servers.push(server);
  return listen('test', server, { host: '127.0.0.1', port: 0 });
}

/** A client that keeps its connection, with this certificate or none. */
function kept(shown?: KeyPairPem): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...shown, ca: before.cert + after.cert });
  agents.push(agent);
  return agent;
}

const ask = (port: number, agent: Agent, path = '/'): Promise<{ status: number; text: string; socket: TLSSocket }> =>
  new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', servername: 'localhost', port, path, agent };
    const req = request(target, (res) => {
      let text = '';
      const socket = res.socket as TLSSocket;
      res.setEncoding('utf8').on('data', (part: string) => (text += part));
      res.on('end', () => resolve({ status: res.statusCode!, text, socket })).on('error', reject);
    });
    req.on('error', reject).end();
  });

test('a connection stays while the authority of its client is trusted, and ends when it is trusted no more', async () => {
  const port = await serve((_req, res) => res.end('data'));
  const agent = kept(client);
  const { socket } = await ask(port, agent);
  tls.rotate(await identity(after, after, before));
  expect(await ask(port, agent)).toEqual({ status: 200, text: 'data', socket });
  tls.rotate(await identity(after, after));
  await until('the end of the connection', () => socket.destroyed);
  await expect(ask(port, agent)).rejects.toThrow();
});

test('a connection of another authority stays when one goes', async () => {
  tls = new RotatingTls(await identity(before, before, after));
  const port = await serve((_req, res) => res.end('data'));
  const [old, fresh] = [kept(client), kept(await issueLeaf(after, names, { now }))];
  const [going, { socket }] = [await ask(port, old), await ask(port, fresh)];
  tls.rotate(await identity(after, after));
  await until('the end of the other connection', () => going.socket.destroyed);
  expect(await ask(port, fresh)).toEqual({ status: 200, text: 'data', socket });
});

test('a request under way is answered, and its connection serves no other', async () => {
  let answer: () => void = () => {};
  const served: string[] = [];
  const port = await serve((req, res) => {
    served.push(req.url!);
    answer = () => void res.end('whole');
  });
  const options = { host: '127.0.0.1', port, servername: 'localhost', ca: before.cert, ...client };
  const socket = connect(options, () => void socket.write('GET /a HTTP/1.1\r\nhost: x\r\n\r\n'));
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  await until('the request', () => served.length === 1);
  tls.rotate(await identity(after, after));
  // It arrives while the first is being answered.
  socket.write('GET /b HTTP/1.1\r\nhost: x\r\n\r\n', () => answer());
  await until('the end of the connection', () => socket.destroyed);
  expect(served).toEqual(['/a']);
  expect(text).toMatch(/^HTTP\/1.1 200 .*whole$/s);
});

test('an answer without an end, and a session for messages, are cut', async () => {
  const ends: string[] = [];
  const port = await serve(
    (_req, res) => {
      res.on('close', () => ends.push('stream'));
      res.write('first');
    },
    {
      clientNames: ['svc-controller'],
      limits: { partingMs: 50 },
      messages: {
        path: '/session',
        protocol: 'test.v1',
        maxBytes: 100,
        accept: () => ({ message: () => {}, closed: () => ends.push('session') }),
      },
    },
  );
  const caller = new TlsClient(fixedTls({ ...client, ca: before.cert }));
  const base = { host: '127.0.0.1', port, servername: 'localhost', deadlineMs: 5_000, maxBytes: 100 };
  const { body } = await caller.stream({ ...base, method: 'GET', path: '/' });
  const cut = body.each(() => {});
  let reason = '';
  const handlers = { message: () => {}, closed: (why: string) => void (reason = why) };
  const { signal } = new AbortController();
  await caller.open({ ...base, path: '/session', protocol: 'test.v1', signal }, handlers);
  tls.rotate(await identity(after, after));
  await expect(cut).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  await until('the end of the session', () => reason !== '' && ends.length === 2);
  expect(ends.toSorted()).toEqual(['session', 'stream']);
  caller.close();
});

test('a handshake that began before its authority was dropped opens no connection', async () => {
  const port = await serve((_req, res) => res.end('data'));
  const raw = createConnection({ host: '127.0.0.1', port });
  await once(servers.at(-1)!, 'connection');
  tls.rotate(await identity(after, after));
  const socket = connect({ socket: raw, servername: 'localhost', ca: before.cert + after.cert, ...client });
  let answer = '';
  socket.on('error', () => {}).on('data', (part) => (answer += String(part)));
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  await until('the end of the connection', () => socket.destroyed);
  expect(answer).toBe('');
});

test('a connection that another protocol serves ends too', async () => {
  const port = await serve((_req, res) => res.end(), { clientNames: ['svc-controller'], http2: () => {} });
  const options = { host: '127.0.0.1', port, servername: 'localhost', ca: before.cert, ...client };
  const socket = connect({ ...options, ALPNProtocols: ['h2'] });
  socket.resume();
  await until('the handshake', () => socket.alpnProtocol === 'h2');
  const plain = await ask(port, kept(client));
  tls.rotate(await identity(after, after));
  await until('the end of both', () => socket.destroyed && plain.socket.destroyed);
});

test('a connection ends with the life of its client certificate', async () => {
  const port = await serve((_req, res) => res.end('data'));
  const brief = kept(await issueLeaf(before, names, { now: Date.now(), days: 4 / 86_400 }));
  const [{ socket }, lasting] = [await ask(port, brief), await ask(port, kept(client))];
  await until('the end of the connection', () => socket.destroyed);
  expect(lasting.socket.destroyed).toBe(false);
  await expect(ask(port, brief)).rejects.toThrow();
});

test('where a certificate is optional, only connections with one of a dropped authority end', async () => {
  let ca = before.cert;
  let changed = (): void => {};
  const clients = {
    get ca() {
      return ca;
    },
    onChange: (fn: () => void) => ((changed = fn), () => {}),
  };
  const port = await serve((req, res) => res.end(String((req.socket as TLSSocket).authorized)), { clients });
  const [known, nobody] = [kept(client), kept()];
  const [first, second] = [await ask(port, known), await ask(port, nobody)];
  expect([first.text, second.text]).toEqual(['true', 'false']);
  // The server's own identity and authority change nothing here.
  tls.rotate(await identity(after, after));
  expect((await ask(port, known)).socket).toBe(first.socket);
  ca = after.cert;
  changed();
  await until('the end of the connection', () => first.socket.destroyed);
  expect((await ask(port, known)).text).toBe('false');
  expect((await ask(port, nobody)).socket).toBe(second.socket);
});
