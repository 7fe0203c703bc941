import type { Pacing } from '../../base/turns/turns.ts';
import snappyjs from 'snappyjs';
import { OperatorError } from '../../base/errors.ts';

/** Snappy's block format (not the framed one), as remote read uses it for requests and SAMPLES answers. */
export function snappyCompress(bytes: Uint8Array): Uint8Array {
  return snappyjs.compress(bytes);
}

/** The most bytes that are compressed at once; no other work runs during these few milliseconds. */
const pieceBytes = 1024 * 1024;

/**
 * Compresses large input to the block format, with turns for other work in between. Writes the length of the whole,
 * then the elements of each piece. Elements refer back only within their piece.
 */
export async function snappyCompressInTurns(bytes: Uint8Array, pacing: Pacing): Promise<Uint8Array> {
  if (bytes.length <= pieceBytes) return snappyCompress(bytes);
  const parts: Uint8Array[] = [lengthBytes(bytes.length)];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    const piece = bytes.subarray(start, start + pieceBytes);
    parts.push(snappyCompress(piece).subarray(lengthBytes(piece.length).length));
    if (pacing.spend(piece.length)) await pacing.turn();
  }
  return Buffer.concat(parts);
}

function lengthBytes(length: number): Uint8Array {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/**
 * Decompresses the block format. It is our own code, because the library's reader loops forever on a literal length
 * with its top bit set, and does not detect output of the wrong length.
 * Errors: ERR_TOO_LARGE when the stated length is above `maxBytes`; ERR_INPUT_INVALID otherwise.
 */
export function snappyDecompress(input: Uint8Array, maxBytes: number): Uint8Array {
  let pos = 0;
  const byte = (): number => {
    if (pos >= input.length) throw corrupt();
    return input[pos++]!;
  };
  let length = 0;
  for (let scale = 1; ; scale *= 128) {
    const b = byte();
    length += (b & 127) * scale;
    if (length > 0xffffffff) throw corrupt();
    if (b < 128) break;
  }
  if (length > maxBytes) {
    throw new OperatorError('ERR_TOO_LARGE', `snappy: decoded block of ${length} bytes, at most ${maxBytes} allowed`);
  }
  const out = new Uint8Array(length);
  let at = 0;
  while (pos < input.length) {
    const tag = byte();
    const kind = tag & 3;
    if (kind === 0) {
      let size = tag >>> 2;
      if (size >= 60) {
        const bytes = size - 59;
        size = 0;
        for (let i = 0; i < bytes; i++) size += byte() * 256 ** i;
      }
      size += 1;
      if (size > input.length - pos || size > length - at) throw corrupt();
      out.set(input.subarray(pos, pos + size), at);
      pos += size;
      at += size;
      continue;
    }
    let size = (tag >>> 2) + 1;
    let offset: number;
    if (kind === 1) {
      size = ((tag >>> 2) & 7) + 4;
      offset = ((tag >>> 5) << 8) | byte();
    } else {
      offset = byte() | (byte() << 8);
      if (kind === 3) offset += byte() * 2 ** 16 + byte() * 2 ** 24;
    }
    if (offset === 0 || offset > at || size > length - at) throw corrupt();
    if (offset >= size) out.copyWithin(at, at - offset, at - offset + size);
    else for (let i = 0; i < size; i++) out[at + i] = out[at + i - offset]!;
    at += size;
  }
  if (at !== length) throw corrupt();
  return out;
}

function corrupt(): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', 'snappy: corrupt input');
}
