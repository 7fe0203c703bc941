import { crc32c } from './crc32c.ts';
import { OperatorError } from '../errors.ts';

/**
 * Checked frames of a byte stream: length as uvarint, CRC-32C of the message as u32 big-endian, message. The framing
 * of Prometheus' streamed remote read, and of the partial answers that agents send to query servers.
 */

/** The largest frame that is accepted. Prometheus' own client also refuses a larger one. */
export const maxFrameBytes = 50 * 1024 * 1024;

/** The frame of one message, which may be in two pieces. */
export function encodeFrame(message: Uint8Array, more?: Uint8Array): Uint8Array {
  const length: number[] = [];
  const size = message.length + (more?.length ?? 0);
  let rest = size;
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  length.push(rest);
  // The memory is overwritten completely. For a short message it comes from Node's pool: separate memory for each
  // message would load the garbage collector.
  const out = Buffer.allocUnsafe(length.length + 4 + size);
  out.set(length);
  const start = length.length + 4;
  out.set(message, start);
  if (more !== undefined) out.set(more, start + message.length);
  out.writeUInt32BE(crc32c(out, 0, start), length.length);
  return out;
}

/**
 * Cuts a byte stream, given piece by piece, into its frames' messages. Messages are views: `use` must be done with a
 * message before it returns, or the message keeps the whole piece alive.
 * Errors: ERR_INPUT_INVALID for a bad length, a bad checksum, or a stream that ends inside a frame; the message names
 * `what`.
 */
export class FrameCutter {
  readonly #what: string;
  readonly #limitBytes: number;
  readonly #use: (message: Uint8Array) => void;
  #parts: Uint8Array[] = [];
  #size = 0;
  /** The parts are joined only when they have this many bytes together: the whole frame, once its length is known. */
  #wanted = 1;

  constructor(what: string, limitBytes: number, use: (message: Uint8Array) => void) {
    this.#what = what;
    this.#limitBytes = limitBytes;
    this.#use = use;
  }

  /** Bytes of the frame that has not arrived completely. */
  get pendingBytes(): number {
    return this.#size;
  }

  /** Takes the next piece of the stream. Errors: also those of `use`. */
  push(part: Uint8Array): void {
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size < this.#wanted) return;
    const buffer = this.#parts.length === 1 ? part : Buffer.concat(this.#parts, this.#size);
    let at = 0;
    this.#wanted = 1;
    for (;;) {
      const header = frameHeader(buffer, at, this.#limitBytes, this.#what);
      if (header === undefined) break;
      const end = header.start + header.length;
      if (end > buffer.length) {
        this.#wanted = end - at;
        break;
      }
      const message = buffer.subarray(header.start, end);
      if (crc32c(message) !== header.crc) throw broken(this.#what, 'checksum does not match');
      this.#use(message);
      at = end;
    }
    this.#size = buffer.length - at;
    this.#parts = this.#size === 0 ? [] : [buffer.subarray(at)];
  }

  /** To be called when the stream has ended. */
  end(): void {
    if (this.#size > 0) throw broken(this.#what, 'stream ended inside a frame');
  }
}

/**
 * The messages of a stream, as cut by `FrameCutter`; all messages of a piece are checked before the first is returned.
 */
export async function* readFrames(
  source: AsyncIterable<Uint8Array>,
  what: string,
  limitBytes = maxFrameBytes,
): AsyncGenerator<Uint8Array> {
  let found: Uint8Array[] = [];
  const cutter = new FrameCutter(what, limitBytes, (message) => found.push(message));
  for await (const part of source) {
    cutter.push(part);
    yield* found;
    found = [];
  }
  cutter.end();
}

function broken(what: string, reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `${what} frame: ${reason}`);
}

function frameHeader(
  bytes: Uint8Array,
  at: number,
  limitBytes: number,
  what: string,
): { start: number; length: number; crc: number } | undefined {
  let length = 0;
  for (let i = 0, scale = 1; ; i++, scale *= 128) {
    if (i === 5) throw broken(what, 'length is not a frame length');
    const b = bytes[at + i];
    if (b === undefined) return undefined;
    length += (b & 127) * scale;
    if (b >= 128) continue;
    if (length > limitBytes) throw broken(what, `of ${length} bytes, at most ${limitBytes} allowed`);
    const start = at + i + 5;
    if (start > bytes.length) return undefined;
    const crc =
      ((bytes[start - 4]! << 24) | (bytes[start - 3]! << 16) | (bytes[start - 2]! << 8) | bytes[start - 1]!) >>> 0;
    return { start, length, crc };
  }
}
