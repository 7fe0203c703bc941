import { connect } from 'node:net';

/**
 * Sends bytes unchanged over a new connection and returns everything that arrives until the server closes it. For
 * requests that no HTTP client would make. With `pour` it repeats that text until an answer arrives or the connection
 * is cut.
 */
export function rawRequest(
  url: string,
  text: string,
  options: { pour?: string; timeoutMs?: number } = {},
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    const timer = setTimeout(() => socket.destroy(new Error(`no answer: ${received}`)), options.timeoutMs ?? 12_000);
    const finish = (): void => {
      clearTimeout(timer);
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0), text: received });
    };
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('end', () => socket.end());
    socket.on('close', finish);
    socket.on('error', (error) => {
      if (received !== '') return;
      clearTimeout(timer);
      reject(error);
    });
    socket.write(text, 'latin1');
    if (options.pour !== undefined) {
      const more = (): void => {
        if (socket.destroyed || !socket.writable || received !== '') return;
        if (socket.write(options.pour!)) setImmediate(more);
        else socket.once('drain', more);
      };
      more();
    }
  });
}
