import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { Server } from 'node:https';
import { mkdtemp, rename, rm, symlink, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { createCa, issueLeaf, type KeyPairPem } from './ca.ts';
import { createTlsServer, peerName } from './https-server.ts';
import { closeServer, listen } from './listen.ts';
import { TlsClient, type TlsRequest } from './tls-client.ts';
import { fixedTls, readTlsDirectory, watchTlsDirectory, type TlsMaterial } from './tls-material.ts';

const now = Date.now();
let ca: KeyPairPem;
let agent: TlsMaterial;
let controller: TlsMaterial;
const open: Server[] = [];

const identity = async (commonName: string, authority = ca): Promise<TlsMaterial> => {
  const leaf = await issueLeaf(
    authority,
    { commonName, dnsNames: [commonName, `${commonName}.svc-system.svc`] },
    { now },
  );
  return { cert: leaf.cert, key: leaf.key, ca: authority.cert };
};

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now });
  [agent, controller] = await Promise.all([identity('svc-agent'), identity('svc-controller')]);
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => closeServer(server, 0)));
});

async function serve(handler: Parameters<typeof createTlsServer>[1], clientNames?: string[]): Promise<number> {
  const server = createTlsServer(fixedTls(agent), handler, clientNames ? { clientNames } : {});
  open.push(server);
  return listen('test', server, { host: '127.0.0.1', port: 0 });
}

const call = (port: number, more: Partial<TlsRequest> = {}): TlsRequest => ({
  host: '127.0.0.1',
  port,
  servername: 'svc-agent.svc-system.svc',
  method: 'GET',
  path: '/x',
  deadlineMs: 5_000,
  maxBytes: 1_000,
  ...more,
});

test('a peer with a certificate of our CA and an allowed name is served, and the server knows its name', async () => {
  const port = await serve((req, res) => res.end(`hello ${peerName(req)}`), ['svc-controller']);
  const client = new TlsClient(fixedTls(controller));
  const answer = await client.request(call(port));
  expect(`${answer.status} ${answer.body.toString()}`).toBe('200 hello svc-controller');
  client.close();
});

test('a peer of our CA whose name is not in the list gets 403', async () => {
  const port = await serve((_req, res) => res.end('secret'), ['svc-query']);
  const client = new TlsClient(fixedTls(controller));
  const answer = await client.request(call(port));
  expect(answer.status).toBe(403);
  expect(answer.body.toString()).not.toContain('secret');
  client.close();
});

test('a peer of another CA does not get through the handshake', async () => {
  let served = 0;
  const port = await serve((_req, res) => (served++, res.end('secret')), ['svc-controller']);
  const stranger = await identity('svc-controller', await createCa({ commonName: 'svc-ca', now }));
  const client = new TlsClient(fixedTls({ ...stranger, ca: ca.cert }));
  await expect(client.request(call(port))).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  expect(served).toBe(0);
  client.close();
});

test('the client refuses a server whose certificate carries another name', async () => {
  const port = await serve((_req, res) => res.end('x'));
  const client = new TlsClient(fixedTls(controller));
  await expect(client.request(call(port, { servername: 'svc-query.svc-system.svc' }))).rejects.toMatchObject({
    code: 'ERR_PEER_IDENTITY',
  });
  client.close();
});

test('a call to a peer that never answers fails at its deadline', async () => {
  const port = await serve(() => {});
  const client = new TlsClient(fixedTls(controller));
  await expect(client.request(call(port, { deadlineMs: 100 }))).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  client.close();
});

test('a call fails whose peer switches to a protocol that was not asked for', async () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  const port = await serve((req) => void req.socket.write(switching));
  const client = new TlsClient(fixedTls(controller));
  await expect(client.request(call(port))).rejects.toMatchObject({
    code: 'ERR_AGENT_UNREACHABLE',
    message: expect.stringContaining('connection closed without an answer') as unknown,
  });
  client.close();
});

test('an answer over the cap is cut off with an error', async () => {
  const port = await serve((_req, res) => res.end('x'.repeat(2_000)));
  const client = new TlsClient(fixedTls(controller));
  await expect(client.request(call(port))).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
  client.close();
});

test('an answer cut in the middle is an error, never a short answer', async () => {
  const port = await serve((_req, res) => {
    res.writeHead(200, { 'content-length': '100' });
    res.write('half');
    setImmediate(() => res.destroy());
  });
  const client = new TlsClient(fixedTls(controller));
  await expect(client.request(call(port))).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  client.close();
});

describe('a body handed out chunk by chunk', () => {
  const client = (): TlsClient => new TlsClient(fixedTls(controller));
  const nothing = (): void => {};

  test('is whole, and leaves the connection for the next request', async () => {
    const sockets = new Set<unknown>();
    const port = await serve((req, res) => {
      sockets.add(req.socket);
      res.write('one ');
      setImmediate(() => res.end('two'));
    });
    const own = client();
    for (let i = 0; i < 2; i++) {
      const { status, body } = await own.stream(call(port));
      const parts: Buffer[] = [];
      await body.each((chunk) => parts.push(chunk));
      expect([status, Buffer.concat(parts).toString()]).toEqual([200, 'one two']);
    }
    expect(sockets.size).toBe(1);
    own.close();
  });

  test('fails over the size cap, when it is cut, after the deadline and when the caller aborts', async () => {
    const half = (res: ServerResponse): void => void res.writeHead(200, { 'content-length': '100' }).write('half');
    const port = await serve((req, res) => {
      if (req.url === '/large') return void res.end('x'.repeat(2_000));
      half(res);
      if (req.url === '/cut') setImmediate(() => res.destroy());
    });
    const own = client();
    const abort = new AbortController();
    const each = async (more: Partial<TlsRequest>, use = nothing): Promise<void> =>
      (await own.stream(call(port, more))).body.each(use);
    await expect(each({ path: '/large' })).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
    await expect(each({ path: '/cut' })).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
    await expect(each({ path: '/never', deadlineMs: 100 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    const gone = each({ path: '/never', signal: abort.signal }, () => abort.abort());
    await expect(gone).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    own.close();
  });

  test('ends the exchange with the error that its reader throws', async () => {
    const closed = Promise.withResolvers<void>();
    const port = await serve((_req, res) => {
      res.once('close', closed.resolve);
      res.write('endless');
    });
    const own = client();
    const { body } = await own.stream(call(port));
    const refusal = new Error('not this');
    const reading = body.each(() => {
      throw refusal;
    });
    await expect(reading).rejects.toBe(refusal);
    await closed.promise;
    own.close();
  });
});

test('an aborted call fails with ERR_ABORTED', async () => {
  const port = await serve(() => {});
  const client = new TlsClient(fixedTls(controller));
  const abort = new AbortController();
  const pending = client.request(call(port, { signal: abort.signal }));
  abort.abort();
  await expect(pending).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  client.close();
});

test('the error for a port in use names the listener and the address', async () => {
  const holder = createServer();
  const port = await listen('holder', holder, { host: '127.0.0.1', port: 0 });
  const second = listen('scrape', createServer(), { host: '127.0.0.1', port });
  await expect(second).rejects.toMatchObject({
    code: 'ERR_LISTEN',
    message: `scrape listen 127.0.0.1:${port}: address already in use`,
  });
  await closeServer(holder, 0);
});

describe('a mounted certificate directory', () => {
  let root: string;
  const write = async (name: string, material: TlsMaterial): Promise<void> => {
    await mkdir(join(root, name));
    await writeFile(join(root, name, 'tls.crt'), material.cert);
    await writeFile(join(root, name, 'tls.key'), material.key);
    await writeFile(join(root, name, 'ca.crt'), material.ca);
    await symlink(name, join(root, 'next'));
    await rename(join(root, 'next'), join(root, '..data'));
  };
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'svc-tls-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  test('is followed through the symbolic-link swap of a rotated Secret; servers use the new certificate', async () => {
    await write('v1', agent);
    const clock = new FakeClock();
    const abort = new AbortController();
    const source = await watchTlsDirectory(join(root, '..data'), { clock, logger: silentLogger, signal: abort.signal });
    const server = createTlsServer(source, (_req, res) => res.end('ok'));
    open.push(server);
    const port = await listen('test', server, { host: '127.0.0.1', port: 0 });
    const served = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = tlsConnect({ ...controller, port, host: '127.0.0.1', servername: 'svc-agent' }, () => {
          resolve(socket.getPeerX509Certificate()!.toString());
          socket.destroy();
        }).on('error', reject);
      });
    expect(await served()).toBe(agent.cert);
    const changed = new Promise<TlsMaterial>((resolve) => source.onChange(resolve));
    const next = await identity('svc-agent');
    await write('v2', next);
    await clock.advance(5_000);
    expect((await changed).cert).toBe(next.cert);
    expect(source.generation).toBe(2);
    expect(await served()).toBe(next.cert);
    abort.abort();
  });

  test.each(['tls.crt', 'tls.key', 'ca.crt'])('is refused without %s, and the error names it', async (missing) => {
    await write('v1', agent);
    await rm(join(root, 'v1', missing));
    await expect(readTlsDirectory(join(root, '..data'))).rejects.toThrow(
      new RegExp(`cannot read .*${missing.replace('.', '\\.')}`),
    );
  });

  test('is refused when the key belongs to another certificate', async () => {
    await write('v1', { ...agent, key: controller.key });
    await expect(readTlsDirectory(join(root, '..data'))).rejects.toThrow(/do not fit together/);
  });
});

test('only a repeatable request is sent again, once, when the kept connection was dead', async () => {
  const seen = new Map<unknown, number>();
  let asked = 0;
  const port = await serve((req, res) => {
    const nth = (seen.get(req.socket) ?? 0) + 1;
    seen.set(req.socket, nth);
    asked++;
    if (nth > 1 || req.url === '/never') req.socket.destroy();
    else res.end('answer');
  });
  const client = new TlsClient(fixedTls(controller));
  const ask = (more: Partial<TlsRequest>) => client.request(call(port, more));
  expect((await ask({})).status).toBe(200);
  expect((await ask({ repeatable: true, method: 'POST', body: 'x' })).body.toString()).toBe('answer');
  expect(seen.size).toBe(2);
  await expect(ask({})).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  // A new connection was alive when the request was sent, so the peer may have seen the request.
  await expect(ask({ repeatable: true, path: '/never' })).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  expect([seen.size, asked]).toEqual([3, 5]);
  // The kept connection is dead, and so is the new one, on which the one repeat was sent.
  expect((await ask({})).status).toBe(200);
  await expect(ask({ repeatable: true, path: '/never' })).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  expect([seen.size, asked]).toEqual([5, 8]);
  client.close();
});

test('calls beyond the connection limit wait in their order, and an aborted call fails immediately', async () => {
  const sockets = new Set<unknown>();
  const held: ServerResponse[] = [];
  const seen: string[] = [];
  const full = Promise.withResolvers<void>();
  const port = await serve((req, res) => {
    sockets.add(req.socket);
    if (req.url !== '/held') return void (seen.push(req.url!), res.end());
    if (held.push(res) === 64) full.resolve();
  });
  const client = new TlsClient(fixedTls(controller));
  const all = Array.from({ length: 64 }, () => client.request(call(port, { path: '/held', deadlineMs: 60_000 })));
  await full.promise;
  const abort = new AbortController();
  const more = ['/a', '/gone', '/b'].map((path) =>
    client.request(call(port, { path, deadlineMs: 60_000, ...(path === '/gone' ? { signal: abort.signal } : {}) })),
  );
  abort.abort();
  await expect(more[1]).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  held[0]!.end();
  await Promise.all([more[0], more[2]]);
  expect([seen, sockets.size]).toEqual([['/a', '/b'], 64]);
  for (const res of held) res.end();
  await Promise.all(all);
  client.close();
});

test('a client that is closed ends the calls in flight', async () => {
  const asked = Promise.withResolvers<void>();
  const port = await serve(() => asked.resolve());
  const client = new TlsClient(fixedTls(controller));
  const pending = client.request(call(port));
  await asked.promise;
  client.close();
  await expect(pending).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
});

test('an answer that is not read yet is held back, and then read completely', async () => {
  const size = 8 * 1024 * 1024;
  let sent = 0;
  const port = await serve((_req, res) => {
    res.writeHead(200, { 'content-length': size });
    const more = (): void => {
      while (sent < size) {
        sent += 64 * 1024;
        if (!res.write(Buffer.alloc(64 * 1024, 1))) return void res.once('drain', more);
      }
      res.end();
    };
    more();
  });
  const client = new TlsClient(fixedTls(controller));
  const { body } = await client.stream(call(port, { maxBytes: size }));
  let read = 0;
  for await (const part of body) {
    read += part.length;
    if (read === part.length) expect(sent).toBeLessThan(size);
  }
  expect(read).toBe(size);
  client.close();
});
