import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { answerTo, readWhole } from './http-body.ts';

/** What a client reads from a server that answers any request with these bytes. */
async function read(bytes: string, maxBytes = 100): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sent = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false }).end();
  try {
    const body = await readWhole(await answerTo(sent), maxBytes, () => new Error('too large'));
    return body.toString('utf8');
  } finally {
    sent.destroy();
    server.close();
  }
}

const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

test('a body in chunks is read whole', async () => {
  expect(await read(`${head}2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`)).toBe('abc');
});

test('a body that is larger than the limit is refused', async () => {
  await expect(read(`${head}2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`, 2)).rejects.toThrow('too large');
});

test.each([
  ['comes with the head', `${head}not a size\r\n`],
  ['follows well-formed chunks', `${head}2\r\nab\r\nnot a size\r\n`],
])('a malformed chunk that %s aborts the answer, and causes no uncaught error', async (_, bytes) => {
  await expect(read(bytes)).rejects.toThrow('aborted');
});

test('a peer that switches to a protocol that was not asked for gives no answer', async () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  await expect(read(switching)).rejects.toThrow('connection closed without an answer');
});

test('an answer that is not HTTP fails with the error of the request', async () => {
  await expect(read('nonsense\r\n\r\n')).rejects.toThrow(/Parse Error/);
});
