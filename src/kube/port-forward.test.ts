import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import { servePortForward } from '../testing/port-forward.ts';
import { createKubeClient, type RestClient } from './index.ts';

/** An API server that passes port-forwards on as a kubelet would, and refuses the pod `forbidden`. */
let api: Server;
let pod: TcpServer;
let client: RestClient;
let asked: { url: string; protocols: string; closed: Promise<unknown> }[];

const listening = async (server: Server | TcpServer): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

beforeEach(async () => {
  asked = [];
  pod = createTcpServer((socket) => socket.on('data', (data) => socket.write(data.toString().toUpperCase())));
  const podPort = await listening(pod);
  api = createServer((req, res) => {
    const status = req.url?.includes('forbidden') ? 403 : 400;
    const message = status === 403 ? 'pods "forbidden" is forbidden: no' : 'Upgrade request required';
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ kind: 'Status', message }));
  });
  api.on('upgrade', (req, socket) => {
    const { 'sec-websocket-protocol': protocols = '' } = req.headers;
    asked.push({
      url: req.url ?? '',
      protocols,
      closed: new Promise<void>((resolve) => socket.once('close', () => resolve())),
    });
    if (req.url?.includes('forbidden')) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    servePortForward(req, socket, async (port) => {
      if (port !== 9095) throw new Error('connection refused');
      return connect(podPort, '127.0.0.1');
    });
  });
  client = createKubeClient({ server: `http://127.0.0.1:${await listening(api)}` });
});
afterEach(async () => {
  await client.close();
  api.closeAllConnections();
  api.close();
  pod.close();
});

async function readUntil(stream: Duplex, length: number): Promise<string> {
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.length >= length) break;
  }
  return text;
}

test('bytes go to the port of the pod and come back, also in large amounts', async () => {
  const stream = await client.portForward({ namespace: 'svc-system', name: 'svc-query-1' }, 9095);
  const sent = 'hello '.repeat(50_000);
  stream.write(sent);
  expect(await readUntil(stream, sent.length)).toBe(sent.toUpperCase());
  expect(asked[0]!.url).toBe('/api/v1/namespaces/svc-system/pods/svc-query-1/portforward?ports=9095');
  expect(asked[0]!.protocols).toContain('v4.channel.k8s.io');
});

test('a refusal has the message of the API server', async () => {
  await expect(client.portForward({ namespace: 'svc-system', name: 'forbidden' }, 9095)).rejects.toMatchObject({
    code: 'ERR_API_FORBIDDEN',
    message: expect.stringContaining('pods "forbidden" is forbidden: no'),
  });
});

test('an error of the kubelet on the error channel ends the stream', async () => {
  const stream = await client.portForward({ namespace: 'svc-system', name: 'svc-query-1' }, 80);
  await expect(readUntil(stream, 1)).rejects.toThrow(
    'port-forward svc-system/svc-query-1:80: error forwarding port 80: Error: connection refused',
  );
});

test('an abort ends the connection', async () => {
  const abort = new AbortController();
  const pod = { namespace: 'svc-system', name: 'svc-query-1' };
  const stream = await client.portForward(pod, 9095, { signal: abort.signal });
  const ended = expect(readUntil(stream, 1)).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  abort.abort();
  await ended;
  await asked[0]!.closed;
  await expect(client.portForward(pod, 9095, { signal: abort.signal })).rejects.toMatchObject({ code: 'ERR_ABORTED' });
});

interface Relay {
  /** Nothing passes any more, though its connections stay open. */
  dead: boolean;
  /** Pieces that passed to the API server, and back. */
  up: number;
  down: number;
}

/** Runs `use` with a client behind a relay. */
async function throughRelay(use: (stream: Duplex, relay: Relay, clock: FakeClock) => Promise<void>): Promise<void> {
  const relay: Relay = { dead: false, up: 0, down: 0 };
  const clock = new FakeClock();
  const { port } = api.address() as AddressInfo;
  const server = createTcpServer((below) => {
    const above = connect(port, '127.0.0.1');
    const pass = (from: Duplex, to: Duplex, way: 'up' | 'down'): void => {
      from.on('data', (data) => {
        if (relay.dead) return;
        relay[way]++;
        to.write(data);
      });
      from.on('close', () => to.destroy()).on('error', () => {});
    };
    pass(below, above, 'up');
    pass(above, below, 'down');
  });
  const relayed = createKubeClient({ server: `http://127.0.0.1:${await listening(server)}`, clock });
  const stream = await relayed.portForward({ namespace: 'svc-system', name: 'svc-query-1' }, 9095);
  try {
    await use(stream, relay, clock);
  } finally {
    stream.destroy();
    await relayed.close();
    server.close();
  }
}

test('a connection that is dead without being closed ends with an error', async () => {
  await throughRelay(async (stream, relay, clock) => {
    stream.write('hello');
    await until('the answer', () => stream.readableLength === 5);
    stream.read();
    relay.dead = true;
    const ended = expect(readUntil(stream, 1)).rejects.toMatchObject({
      code: 'ERR_TIMEOUT',
      message: 'port-forward svc-system/svc-query-1:9095: no sign of life for 45 s',
    });
    await clock.advance(45_000);
    await ended;
    expect(clock.pending).toBe(0);
  });
});

test('a quiet connection stays open, and so does one whose reader is slow', async () => {
  await throughRelay(async (stream, relay, clock) => {
    stream.resume();
    for (let ping = 0; ping < 5; ping++) {
      const { up, down } = relay;
      await clock.advance(15_000);
      await until('a ping and its answer', () => relay.up > up && relay.down > down, { timeoutMs: 9_000 });
    }
    expect(stream.destroyed).toBe(false);
    stream.pause();
    const sent = 'x'.repeat(1_000_000);
    stream.write(sent);
    // The answers to pings wait behind the data that nobody reads.
    await until('a full buffer', () => stream.readableLength >= stream.readableHighWaterMark);
    await clock.advance(600_000);
    expect((await readUntil(stream, sent.length)).length).toBe(sent.length);
  });
});

test('an unreachable server is reported', async () => {
  const gone = createKubeClient({ server: 'http://127.0.0.1:1' });
  await expect(gone.portForward({ namespace: 'a', name: 'b' }, 1)).rejects.toThrow(
    /port-forward a\/b:1: .*ECONNREFUSED/,
  );
});
