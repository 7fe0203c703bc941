/**
 * A program that does with Node.js alone what a part of the product does on the network, and nothing else. The first
 * message tells it its role; the answer is its port, or 0. Each later message has a connecting program send one message
 * over each of its connections; the answer comes when all replies are there.
 */
import { once } from 'node:events';
// eslint-disable-next-line @typescript-eslint/no-restricted-imports -- a floor has none of our listeners' limits
import https, { Agent, get } from 'node:https';
import type { AddressInfo } from 'node:net';
// eslint-disable-next-line @typescript-eslint/no-restricted-imports -- a floor has none of our listeners' limits
import tls, { connect, type TLSSocket } from 'node:tls';

/** Certificate, key and authority of all of these programs, as PEM. */
export interface FloorTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** Sizes in bytes. */
export type FloorWork = { readonly tls: FloorTls } & (
  | { readonly role: 'answer'; readonly bytes: number }
  | { readonly role: 'relay'; readonly port: number }
  | { readonly role: 'reply'; readonly message: number; readonly reply: number }
  | {
      readonly role: 'connect';
      readonly port: number;
      readonly connections: number;
      readonly message: number;
      readonly reply: number;
    }
);

const host = '127.0.0.1';
const servername = 'localhost';
/** Connections that are opened at the same time. */
const handshakes = 32;

const [work] = (await once(process, 'message')) as [FloorWork];
const mutual = { ...work.tls, requestCert: true, rejectUnauthorized: true };

switch (work.role) {
  case 'answer': {
    const body = 'x'.repeat(work.bytes);
    await listen(https.createServer(mutual, (_, res) => res.end(body)));
    break;
  }
  case 'relay': {
    const { port } = work;
    const agent = new Agent({ ...work.tls, servername, keepAlive: true });
    await listen(
      https.createServer(work.tls, (_, res) => get({ host, port, agent }, (answer) => void answer.pipe(res))),
    );
    break;
  }
  case 'reply': {
    const reply = Buffer.alloc(work.reply, 'x');
    const { message } = work;
    await listen(tls.createServer(mutual, (socket) => onEach(socket, message, () => socket.write(reply))));
    break;
  }
  case 'connect': {
    const { port, connections, message, reply } = work;
    const sockets: TLSSocket[] = [];
    while (sockets.length < connections) {
      const more = Array.from({ length: Math.min(handshakes, connections - sockets.length) }, async () => {
        const socket = connect({ host, port, servername, ...work.tls });
        await once(socket, 'secureConnect');
        sockets.push(socket);
      });
      await Promise.all(more);
    }
    const text = Buffer.alloc(message, 'x');
    let missing = 0;
    for (const socket of sockets) {
      onEach(socket, reply, () => {
        if (--missing === 0) process.send!('replies');
      });
    }
    process.on('message', () => {
      missing = sockets.length;
      for (const socket of sockets) socket.write(text);
    });
    process.send!(0);
  }
}

/** Listens, and tells the port. */
async function listen(server: ReturnType<typeof tls.createServer>): Promise<void> {
  await once(server.listen(0, host), 'listening');
  process.send!((server.address() as AddressInfo).port);
}

/** Calls back for each full message of that size. */
function onEach(socket: TLSSocket, size: number, then: () => void): void {
  let read = 0;
  socket.on('data', ({ length }: Buffer) => {
    for (read += length; read >= size; read -= size) then();
  });
}
