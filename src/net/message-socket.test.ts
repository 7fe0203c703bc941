import type { Server } from 'node:https';
import { OperatorError } from '../base/errors.ts';
import { until } from '../testing/until.ts';
import { createCa, issueLeaf, type KeyPairPem } from './ca.ts';
import { createTlsServer, type TlsServerOptions } from './https-server.ts';
import { closeServer, listen } from './listen.ts';
import type { MessageHandlers, MessageSocket, SocketRequest } from './message-socket.ts';
import { TlsClient } from './tls-client.ts';
import { fixedTls, type TlsMaterial } from './tls-material.ts';

const now = Date.now();
let ca: KeyPairPem;
let peer: TlsMaterial;
let caller: TlsMaterial;
const servers: Server[] = [];
const aborts: AbortController[] = [];

const identity = async (commonName: string): Promise<TlsMaterial> => {
  const leaf = await issueLeaf(ca, { commonName, dnsNames: [`${commonName}.svc-system.svc`] }, { now });
  return { cert: leaf.cert, key: leaf.key, ca: ca.cert };
};

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now });
  [peer, caller] = await Promise.all([identity('svc-agent'), identity('svc-controller')]);
});
afterEach(async () => {
  for (const abort of aborts.splice(0)) abort.abort();
  await Promise.all(servers.splice(0).map((server) => closeServer(server, 0)));
});

/** One side of a connection, with what it received. */
class Side implements MessageHandlers {
  readonly received: string[] = [];
  ended: string | null = null;
  message(body: Buffer): void {
    this.received.push(body.toString());
  }
  closed(reason: string): void {
    this.ended = this.ended === null ? reason : `${this.ended}, and again: ${reason}`;
  }
}

interface Stage {
  readonly port: number;
  /** The server's sides of the connections, in order. */
  readonly sides: { socket: MessageSocket; side: Side }[];
}

async function serve(options: Partial<TlsServerOptions> = {}, maxBytes = 1_000): Promise<Stage> {
  const sides: Stage['sides'] = [];
  const accept = (socket: MessageSocket): MessageHandlers => {
    const side = new Side();
    sides.push({ socket, side });
    return side;
  };
  const server = createTlsServer(fixedTls(peer), (req, res) => res.writeHead(404).end(req.url), {
    clientNames: ['svc-controller'],
    messages: { path: '/session', protocol: 'test.v1', maxBytes, accept },
    ...options,
  });
  servers.push(server);
  return { port: await listen('test', server, { host: '127.0.0.1', port: 0 }), sides };
}

function open(
  { port }: { port: number },
  side: MessageHandlers = new Side(),
  more: Partial<SocketRequest> = {},
): Promise<MessageSocket | null> {
  const abort = new AbortController();
  aborts.push(abort);
  const client = new TlsClient(fixedTls(caller));
  const request = { host: '127.0.0.1', port, servername: 'svc-agent.svc-system.svc', path: '/session' };
  const limits = { protocol: 'test.v1', deadlineMs: 5_000, maxBytes: 1_000, signal: abort.signal };
  return client.open({ ...request, ...limits, ...more }, side);
}

const text = (value: string): Buffer => Buffer.from(value);

test('messages travel in both directions, whole and in order, also when they are given in pieces', async () => {
  const stage = await serve();
  const side = new Side();
  const socket = await open(stage, side);
  void socket!.send([text('a'), text('b')]);
  void socket!.send([text('c')]);
  await until('the messages', () => stage.sides[0]?.side.received.length === 2);
  expect(stage.sides[0]!.side.received).toEqual(['ab', 'c']);
  await stage.sides[0]!.socket.send([text('d')]);
  await until('the answer', () => side.received.length === 1);
  expect(side.received).toEqual(['d']);
});

test('the reason with which one side closes a connection reaches the peer', async () => {
  const stage = await serve();
  const side = new Side();
  await open(stage, side);
  stage.sides[0]!.socket.close('the server ends');
  await until('the end', () => side.ended !== null);
  expect(side.ended).toBe('the server ends');
});

test.each<[string, Partial<TlsServerOptions>, Partial<SocketRequest>, object]>([
  ['a client that may not call', { clientNames: ['svc-query'] }, {}, { code: 'ERR_AGENT_UNREACHABLE' }],
  ['another subprotocol', {}, { protocol: 'test.v2' }, { code: 'ERR_AGENT_UNREACHABLE' }],
  ['a server of another name', {}, { servername: 'svc-query.svc-system.svc' }, { code: 'ERR_PEER_IDENTITY' }],
  ['an aborted signal', {}, { signal: AbortSignal.abort() }, { code: 'ERR_ABORTED' }],
])('no connection is opened for %s', async (_what, options, request, error) => {
  const stage = await serve(options);
  await expect(open(stage, new Side(), request)).rejects.toMatchObject(error);
  expect(stage.sides).toEqual([]);
});

test('with a server that has no message connections, such as an older one, `open` resolves to null', async () => {
  const server = createTlsServer(fixedTls(peer), (_req, res) => res.writeHead(404).end());
  servers.push(server);
  expect(await open({ port: await listen('test', server, { host: '127.0.0.1', port: 0 }) })).toBeNull();
});

test('an answer without an upgrade is not read to its end, which may never come', async () => {
  let isGone = false;
  const server = createTlsServer(fixedTls(peer), (_req, res) => {
    res.on('close', () => (isGone = true));
    res.writeHead(404).write('x');
  });
  servers.push(server);
  expect(await open({ port: await listen('test', server, { host: '127.0.0.1', port: 0 }) })).toBeNull();
  await until('the end of the connection', () => isGone);
});

test('a server that does not answer runs into the deadline', async () => {
  const server = createTlsServer(fixedTls(peer), () => {});
  servers.push(server);
  const port = await listen('test', server, { host: '127.0.0.1', port: 0 });
  await expect(open({ port }, new Side(), { deadlineMs: 200 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
});

test('a message over the limit ends the connection on both sides', async () => {
  const stage = await serve();
  const side = new Side();
  const socket = await open(stage, side);
  void socket!.send([text('x'.repeat(1_001))]);
  await until('both ends', () => side.ended !== null && stage.sides[0]!.side.ended !== null);
  expect([stage.sides[0]!.side.received, stage.sides[0]!.side.ended]).toEqual([[], 'Max payload size exceeded']);
});

test('a handler that throws ends its connection, and only that', async () => {
  const stage = await serve();
  const [bad, good] = [new Side(), new Side()];
  bad.message = () => {
    throw new OperatorError('ERR_INPUT_INVALID', 'status: is not there');
  };
  await open(stage, bad);
  await open(stage, good);
  for (const { socket } of stage.sides) void socket.send([text('m')]);
  await until('the end', () => bad.ended !== null && stage.sides[0]!.side.ended !== null && good.received.length === 1);
  expect([bad.ended, good.ended]).toEqual(['status: is not there', null]);
});

test('after a handler has thrown, no further message reaches it', async () => {
  const stage = await serve();
  const side = new Side();
  let calls = 0;
  side.message = () => {
    calls++;
    throw new OperatorError('ERR_INPUT_INVALID', 'status: is not there');
  };
  await open(stage, side);
  for (let i = 0; i < 10; i++) void stage.sides[0]!.socket.send([text('m')]);
  await until('the end', () => side.ended !== null);
  expect(calls).toBe(1);
});

test('an open connection ends when the signal with which it was opened aborts', async () => {
  const stage = await serve();
  const side = new Side();
  const abort = new AbortController();
  await open(stage, side, { signal: abort.signal });
  abort.abort();
  await until('both ends', () => side.ended !== null && stage.sides[0]!.side.ended !== null);
});

test('what the peer sends while a side has paused waits, and arrives after the pause', async () => {
  const stage = await serve({}, 1_000_000);
  const socket = await open(stage);
  const [first] = stage.sides;
  first!.socket.pause();
  const sent: Promise<void>[] = [];
  const body = text('x'.repeat(500_000));
  for (let i = 0; i < 40; i++) sent.push(socket!.send([body]));
  let all = false;
  void Promise.all(sent).then(() => (all = true));
  await sent[0];
  expect([all, first!.side.received.length]).toEqual([false, 0]);
  first!.socket.resume();
  await until('every message', () => first!.side.received.length === 40);
});

test('at the limit of connections an idle one is closed, not one that carries messages', async () => {
  const stage = await serve({ limits: { connections: 2, connectionsPerAddress: 2, requests: 2 } });
  const side = new Side();
  const socket = await open(stage, side);
  const client = new TlsClient(fixedTls(caller));
  const base = { host: '127.0.0.1', port: stage.port, servername: 'svc-agent.svc-system.svc' };
  const get = (): Promise<{ status: number }> =>
    client.request({ ...base, method: 'GET', path: '/other', deadlineMs: 5_000, maxBytes: 1_000 });
  const strangers = [new TlsClient(fixedTls(caller)), new TlsClient(fixedTls(caller))];
  expect((await get()).status).toBe(404);
  for (const one of strangers) {
    const answer = await one.request({ ...base, method: 'GET', path: '/x', deadlineMs: 5_000, maxBytes: 1_000 });
    expect(answer.status).toBe(404);
  }
  await socket!.send([text('still here')]);
  await until('the message', () => stage.sides[0]!.side.received.length === 1);
  expect(side.ended).toBeNull();
  for (const one of [client, ...strangers]) one.close();
});
