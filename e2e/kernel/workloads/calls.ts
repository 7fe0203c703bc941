import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { ports, postgresMessage, type CallOrder, type Protocol } from '../protocols.ts';

/** Sends the calls that a test has ordered. Resolves when each is answered. */
export async function sendCalls({ protocol, ip, calls }: CallOrder): Promise<void> {
  const all = calls.flatMap(({ call, count }) => Array<string>(count).fill(call));
  await senders[protocol](ip, all);
}

const senders: Readonly<Record<Protocol, (ip: string, calls: readonly string[]) => Promise<void>>> = {
  redis: (ip, calls) =>
    overSocket(ip, ports.redis, async (ask) => {
      for (const call of calls) {
        const words = call.split(' ');
        await ask(
          Buffer.from(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`),
          '\r\n',
        );
      }
    }),
  postgres: (ip, calls) =>
    overSocket(ip, ports.postgres, async (ask) => {
      const ready = 'Z\0\0\0\x05I';
      // Version 3.0 of the protocol. Only this first message does not begin with the letter of its type.
      const start = postgresMessage('', Buffer.from('\0\x03\0\0user\0shop\0\0', 'latin1'));
      await ask(start, ready);
      for (const call of calls) await ask(postgresMessage('Q', Buffer.from(`${call}\0`)), ready);
    }),
  grpc: async (ip, calls) => {
    const session = connectHttp2(`http://${ip}:${ports.grpc}`);
    const failed = new Promise<never>((_resolve, reject) => session.on('error', reject));
    for (const path of calls) {
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
      const stream = session.request(headers);
      stream.resume();
      stream.end(Buffer.alloc(5));
      await Promise.race([failed, new Promise((resolve) => stream.on('close', resolve))]);
    }
    session.close();
  },
};

type Ask = (request: Buffer, end: string) => Promise<void>;

/** Runs `work` with a connection. The function `ask` sends a request and waits until the answer ends with `end`. */
async function overSocket(ip: string, port: number, work: (ask: Ask) => Promise<void>): Promise<void> {
  const socket: Socket = connect({ host: ip, port, noDelay: true });
  const failed = new Promise<never>((_resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server has closed the connection')));
  });
  failed.catch(() => undefined);
  const ask: Ask = (request, end) => {
    const answered = new Promise<void>((resolve) => {
      let answer = '';
      const hear = (chunk: Buffer): void => {
        answer += chunk.toString('latin1');
        if (!answer.endsWith(end)) return;
        socket.off('data', hear);
        resolve();
      };
      socket.on('data', hear);
    });
    socket.write(request);
    return Promise.race([failed, answered]);
  };
  await work(ask);
  socket.end();
}
