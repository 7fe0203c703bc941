import { crc32c } from '../../base/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';

/** A frame larger than this is refused by Prometheus' own client, too. */
export const maxFrameBytes = 50 * 1024 * 1024;

/**
 * Cuts a byte stream into its frames' messages.
 * Errors: ERR_INPUT_INVALID for a bad length, a bad checksum, or a stream that ends inside a frame.
 */
export async function* readFrames(
  source: AsyncIterable<Uint8Array>,
  limitBytes = maxFrameBytes,
): AsyncGenerator<Uint8Array> {
  let buffer: Uint8Array = new Uint8Array(0);
  for await (const part of source) {
    buffer = buffer.length === 0 ? part : joined(buffer, part);
    let at = 0;
    for (;;) {
      const header = frameHeader(buffer, at, limitBytes);
      if (!header || header.start + header.length > buffer.length) break;
      const message = buffer.subarray(header.start, header.start + header.length);
      if (crc32c(message) !== header.crc) throw broken('checksum does not match');
      yield message;
      at = header.start + header.length;
    }
    buffer = buffer.subarray(at);
  }
  if (buffer.length > 0) throw broken('stream ended inside a frame');
}

function frameHeader(
  bytes: Uint8Array,
  at: number,
  limitBytes: number,
): { start: number; length: number; crc: number } | undefined {
  let length = 0;
  for (let i = 0, scale = 1; ; i++, scale *= 128) {
    if (i === 5) throw broken('length is not a frame length');
    const b = bytes[at + i];
    if (b === undefined) return undefined;
    length += (b & 127) * scale;
    if (b >= 128) continue;
    if (length > limitBytes) throw broken(`of ${length} bytes, at most ${limitBytes} allowed`);
    const start = at + i + 5;
    if (start > bytes.length) return undefined;
    const crc = new DataView(bytes.buffer, bytes.byteOffset + at + i + 1, 4).getUint32(0, false);
    return { start, length, crc };
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function broken(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `remote read frame: ${reason}`);
}
