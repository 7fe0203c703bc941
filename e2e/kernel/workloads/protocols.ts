/**
 * A server of Redis, PostgreSQL and gRPC on their usual ports. Its client sends one call after the other, and the
 * server has only the part of each protocol that this client uses. It stores nothing.
 */
import { createServer as createHttp2Server } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { ports, postgresMessage } from '../protocols.ts';

/** Each chunk is one command, since the client waits for its answer. */
function serveRedis(socket: Socket): void {
  socket.on('data', (chunk) => {
    const [, , name = ''] = chunk.toString('latin1').split('\r\n');
    const answers: Readonly<Record<string, string>> = { PING: '+PONG\r\n', SET: '+OK\r\n', GET: '$5\r\nvalue\r\n' };
    socket.write(answers[name] ?? '-ERR unknown command\r\n');
  });
}

function servePostgres(socket: Socket): void {
  const ready = postgresMessage('Z', Buffer.from('I'));
  let started = false;
  socket.on('data', (chunk) => {
    if (!started) {
      started = true;
      return void socket.write(Buffer.concat([postgresMessage('R', Buffer.alloc(4)), ready]));
    }
    const [verb = ''] = chunk.toString('latin1', 5).split(' ');
    const tag = verb === 'INSERT' ? 'INSERT 0 1' : `${verb} 1`;
    socket.write(Buffer.concat([postgresMessage('C', Buffer.from(`${tag}\0`)), ready]));
  });
}

const grpc = createHttp2Server();
grpc.on('stream', (stream) => {
  stream.resume();
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    // An empty message: not compressed, of length 0.
    stream.end(Buffer.alloc(5));
  });
});

let waiting = 3;
const listening = (): void => {
  if (--waiting === 0) process.stdout.write('{"listening":true}\n');
};
createServer(serveRedis).listen(ports.redis, listening);
createServer(servePostgres).listen(ports.postgres, listening);
grpc.listen(ports.grpc, listening);
