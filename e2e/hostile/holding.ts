import { connect, type Socket } from 'node:net';
import { callLine, statusOf, type Identity, type Line, type Target } from './caller.ts';

/**
 * Opens connections without TLS from eight addresses, and sends at most the beginning of a request on each. Connections
 * that the listener does not close stay open until `release`.
 */
export async function holdConnections(
  target: Target,
  count: number,
): Promise<{ open: () => number; release: () => void }> {
  const sockets: Socket[] = [];
  const openings = [
    '',
    'GET / HTTP/1.1\r\nHost: h\r\n',
    'POST /token HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n{',
  ];
  for (let i = 0; i < count; i++) {
    const socket = connect({ host: '127.0.0.1', port: target.port, localAddress: `127.0.0.${66 + (i % 8)}` });
    socket.on('error', () => {});
    const opening = openings[i % openings.length]!;
    if (opening !== '') socket.write(opening);
    sockets.push(socket);
    if (i % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    open: () => sockets.filter(({ readyState }) => readyState === 'open').length,
    release: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A sender that never finishes its request, and how long the listener kept its connection. */
export interface Slow {
  readonly what: string;
  readonly target: Target;
  /** Resolves with ms and status once the connection is closed. */
  readonly ended: Promise<{ ms: number; status: number }>;
}

const slowly: Readonly<Record<string, { first: string; drip: string }>> = {
  'says nothing': { first: '', drip: '' },
  'sends its headers a byte at a time': { first: 'GET / HTTP/1.1\r\nHost: h\r\nX: ', drip: 'a' },
  'sends its body a byte at a time': { first: 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n', drip: 'a' },
  'never ends its chunks': {
    first: 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
    drip: '1\r\na\r\n',
  },
};

/** Starts one slow sender of each kind against a listener, in parallel. */
export async function startSlow(target: Target, identity: Identity): Promise<Slow[]> {
  return Promise.all(
    Object.entries(slowly).map(async ([what, { first, drip }]) => {
      const started = performance.now();
      const line = await callLine(target, identity, { alpn: 'http/1.1' });
      if (first !== '') line.socket.write(first);
      const dripping = setInterval(() => drip !== '' && !line.socket.destroyed && line.socket.write(drip), 200);
      return { what, target, ended: endOf(line, started, dripping) };
    }),
  );
}

async function endOf(line: Line, started: number, dripping: NodeJS.Timeout): Promise<{ ms: number; status: number }> {
  await line.closed;
  clearInterval(dripping);
  line.socket.destroy();
  return { ms: performance.now() - started, status: statusOf(line) };
}
