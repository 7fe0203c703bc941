import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

const protocol = 'v4.channel.k8s.io';
const server = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: (offered) => offered.has(protocol) && protocol,
});

/**
 * Serves one port-forward as a kubelet does: two channels, data and errors, each of which begins with the port's
 * number, little-endian. The connection to the pod is opened immediately; errors go to the error channel.
 * Source: kubelet `portforward/websocket.go`, subprotocol `v4.channel.k8s.io`.
 */
export function servePortForward(
  req: IncomingMessage,
  socket: Duplex,
  connect: (port: number) => Promise<Duplex>,
): void {
  const { searchParams } = new URL(req.url ?? '/', 'http://kubelet');
  // A client sends the parameter `ports` to the API server, which sends `port` to the kubelet.
  const port = Number(searchParams.get('port') ?? searchParams.get('ports'));
  server.handleUpgrade(req, socket, Buffer.alloc(0), (client) => {
    const message = (channel: number, content: Buffer): void =>
      client.send(Buffer.concat([Buffer.of(channel), content]));
    const start = Buffer.of(port & 0xff, port >> 8);
    message(0, start);
    message(1, start);
    const pod = connect(port);
    const fail = (error: unknown): void => {
      message(1, Buffer.from(`error forwarding port ${port}: ${String(error)}`));
      client.close();
    };
    client.on('message', (data) => {
      const bytes = data as Buffer;
      // Channel 0 is the only one that a client writes to.
      if (bytes[0] === 0) pod.then((stream) => stream.write(bytes.subarray(1))).catch(() => {});
    });
    client.on('error', () => {}); // the connection ends
    client.on('close', () => void pod.then((stream) => stream.destroy()).catch(() => {}));
    pod.then((stream) => {
      stream.on('data', (chunk: Buffer) => message(0, chunk));
      stream.on('end', () => client.close());
      stream.on('error', fail);
    }, fail);
  });
}
