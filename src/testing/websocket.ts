import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The server's end of one WebSocket. */
export interface ServerSocket {
  send(message: Buffer): void;
  close(): void;
  onMessage(use: (message: Buffer) => void): void;
  onClose(use: () => void): void;
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Answers an upgrade with 101 and the first of `protocols` that the client offers. Source: RFC 6455. */
export function acceptWebSocket(req: IncomingMessage, socket: Duplex, protocols: readonly string[]): ServerSocket {
  const asked = (req.headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim());
  const protocol = protocols.find((name) => asked.includes(name));
  const accept = createHash('sha1')
    .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  let use: (message: Buffer) => void = () => {};
  let rest = Buffer.alloc(0);
  const parts: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = readFrame(rest); frame; frame = readFrame(rest)) {
      rest = rest.subarray(frame.size);
      if (frame.opcode === opcodes.close) return void socket.end(frameOf(opcodes.close, frame.payload));
      if (frame.opcode === opcodes.ping) socket.write(frameOf(opcodes.pong, frame.payload));
      if (frame.opcode > opcodes.binary) continue;
      parts.push(frame.payload);
      if (frame.last) use(Buffer.concat(parts.splice(0)));
    }
  });
  // The HTTP server allows half-open connections, so the server's side must be ended explicitly.
  socket.on('end', () => socket.end());
  socket.on('error', () => socket.destroy());
  return {
    send: (message) => void socket.write(frameOf(opcodes.binary, message)),
    close: () => void socket.end(frameOf(opcodes.close, Buffer.alloc(0))),
    onMessage: (listener) => (use = listener),
    onClose: (listener) => void socket.once('close', listener),
  };
}

/** A client's frame, unmasked; undefined until all of it has arrived. */
function readFrame(bytes: Buffer): { opcode: number; last: boolean; payload: Buffer; size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const head = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < head + 4) return undefined;
  const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  const size = head + 4 + length;
  if (bytes.length < size) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4, size).map((byte, i) => byte ^ mask[i % 4]!));
  return { opcode: bytes[0]! & 0x0f, last: (bytes[0]! & 0x80) !== 0, payload, size };
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
