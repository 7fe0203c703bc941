import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type ListenOptions, type Server, type Socket } from 'node:net';
import { closeGrpc, createGrpcServer, listenGrpc } from './grpc-server.ts';
import { boundAddress, listen } from './listen.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) if (server.listening) await new Promise((resolve) => server.close(resolve));
});

function aServer(): Server {
  const server = createServer((socket) => socket.end());
  servers.push(server);
  return server;
}

/** A server that cannot bind `host`, as on a node where IPv6 is switched off. */
function without(host: string, code: string): Server {
  const server = aServer();
  const bind = server.listen.bind(server);
  server.listen = ((options: ListenOptions) => {
    if (options.host !== host) return bind(options);
    process.nextTick(() => server.emit('error', Object.assign(new Error(`listen ${code}`), { code })));
    return server;
  }) as Server['listen'];
  return server;
}

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  sockets.push(socket);
  await once(socket, 'connect');
  return true;
}

const loopbacks = ['127.0.0.1', '::1'];

test.each(loopbacks)('a server on :: answers at %s', async (host) => {
  const port = await listen('test', aServer(), { host: '::', port: 0 });
  expect(await answers(host, port)).toBe(true);
});

test.each(loopbacks)('a gRPC server on :: answers at %s', async (host) => {
  const server = createGrpcServer({ maxMessageBytes: 1_000 });
  const port = await listenGrpc('test', server, { host: '::', port: 0 });
  try {
    expect(await answers(host, port)).toBe(true);
  } finally {
    await closeGrpc(server, 0);
  }
});

test.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])('where :: fails with %s, every IPv4 address is bound', async (code) => {
  const server = without('::', code);
  const port = await listen('test', server, { host: '::', port: 0 });
  expect(server.address()).toEqual({ address: '0.0.0.0', family: 'IPv4', port });
  expect(boundAddress(server)).toBe('0.0.0.0');
  expect(await answers('127.0.0.1', port)).toBe(true);
  expect(server.listenerCount('error')).toBe(0);
});

test('a port that is taken is named with the address that was asked for', async () => {
  const taken = aServer();
  await listen('first', taken, { host: '::', port: 0 });
  const { port } = taken.address() as AddressInfo;
  await expect(listen('second', aServer(), { host: '::', port })).rejects.toThrow(
    `second listen [::]:${port}: address already in use`,
  );
});

test('without IPv6, a port that is taken is named with the address that was tried last', async () => {
  const taken = aServer();
  const port = await listen('first', taken, { host: '0.0.0.0', port: 0 });
  expect(boundAddress(taken)).toBe('0.0.0.0');
  await expect(listen('second', without('::', 'EAFNOSUPPORT'), { host: '::', port })).rejects.toThrow(
    `second listen 0.0.0.0:${port}: address already in use`,
  );
});

test('an address of IPv6 that the machine lacks is not replaced', async () => {
  const server = without('fd00::9', 'EADDRNOTAVAIL');
  await expect(listen('test', server, { host: 'fd00::9', port: 9090 })).rejects.toThrow(
    'test listen [fd00::9]:9090: cannot assign requested address',
  );
  expect(server.listening).toBe(false);
});
