import { OperatorError } from '../../base/errors.ts';
import { highWord, lowWord } from './float-bits.ts';
import type { SampleBuffer } from './sample-buffer.ts';

const two32 = 4_294_967_296;
const maxVarintBytes = 10;

/**
 * Wide loads read up to five bytes at once and may look past the end: chunks are decoded from here, where there is
 * always room behind; whoever needs what lies there is refused. Grows to the largest chunk seen; decoding never suspends, so one is enough.
 */
let scratch = new Uint8Array(4096);
let scratchView = new DataView(scratch.buffer);

/** Number of samples in a chunk, from its header. */
export function chunkSampleCount(bytes: Uint8Array): number {
  return bytes.length < 2 ? 0 : (bytes[0]! << 8) | bytes[1]!;
}

/**
 * Decodes one XOR chunk and appends its samples to `out`, those before `mint` left out: a window of ten samples need not
 * pay for writing the hundred before it. Answers with how many it appended.
 * Safe on bytes from outside: a chunk whose bits end early, or whose numbers are out of range, is refused whole.
 * Errors: ERR_STORE_CORRUPT; then `out.length` is as before.
 */
export function decodeXorChunk(bytes: Uint8Array, out: SampleBuffer, mint = -Infinity): number {
  const count = chunkSampleCount(bytes);
  if (bytes.length < 2) throw corrupt('shorter than its header');
  if (count === 0) return 0;
  const length = bytes.length;
  if (scratch.length < length + 24) {
    scratch = new Uint8Array(length * 2 + 24);
    scratchView = new DataView(scratch.buffer);
  }
  scratch.set(bytes);
  out.reserve(count);
  const appended = decode(length * 8, count, mint, out.times, out.words, out.length);
  out.length += appended;
  return appended;
}

/**
 * Returns how many samples were written. One load of 32 bits serves a sample's time and value where both are short, as
 * they are in most chunks. Errors: ERR_STORE_CORRUPT for samples that reach past bit `limit`.
 */
function decode(
  limit: number,
  count: number,
  mint: number,
  times: Float64Array,
  words: Uint32Array,
  from: number,
): number {
  const b = scratch;
  const view = scratchView;
  varintAt = 2;
  const first = readUvarint(b);
  let t = first % 2 === 0 ? first / 2 : -(first + 1) / 2;
  let pos = varintAt * 8;
  let high = peek(b, view, pos);
  let low = peek(b, view, pos + 32);
  pos += 64;
  let at = from;
  if (t >= mint) {
    times[at] = t;
    words[2 * at + highWord] = high;
    words[2 * at + lowWord] = low;
    at++;
  }
  let delta = 0;
  let leading = 0;
  let trailing = 0;
  for (let i = 1; i < count; i++) {
    if (pos >= limit) throw pastEnd();
    /** The bits at `pos`, of which the first `known` are right. */
    let w: number;
    let known = 32;
    if (i > 1) {
      w = peek(b, view, pos);
      if (w === 0) {
        // Two bits each say that neither the distance nor the value changed: what stands still does so for long.
        let run = Math.min(16, count - i);
        pos += 2 * run;
        i += run - 1;
        for (; run > 0; run--) {
          t += delta;
          if (t < mint) continue;
          times[at] = t;
          words[2 * at + highWord] = high;
          words[2 * at + lowWord] = low;
          at++;
        }
        continue;
      }
      if (w >= 0) {
        pos += 1;
        w <<= 1;
        known = 31;
      } else {
        let dod: number;
        if (w << 1 >= 0) {
          dod = (w << 2) >>> 18;
          if (dod > 8192) dod -= 16_384;
          pos += 16;
        } else if (w << 2 >= 0) {
          dod = (w << 3) >>> 15;
          if (dod > 65_536) dod -= 131_072;
          pos += 20;
        } else if (w << 3 >= 0) {
          dod = (w << 4) >>> 12;
          if (dod > 524_288) dod -= 1_048_576;
          pos += 24;
        } else {
          dod = peek(b, view, pos + 4) * two32 + (peek(b, view, pos + 36) >>> 0);
          pos += 68;
        }
        delta += dod;
        w = peek(b, view, pos);
      }
    } else {
      varintAt = pos >>> 3;
      delta = readUvarint(b);
      pos = varintAt * 8;
      w = peek(b, view, pos);
    }
    t += delta;

    if (w >= 0) pos += 1;
    else {
      let significant: number;
      let control = 2;
      if (w << 1 >= 0) significant = 64 - leading - trailing;
      else {
        leading = (w << 2) >>> 27;
        significant = (w << 7) >>> 26;
        if (significant === 0) significant = 64;
        trailing = 64 - leading - significant;
        if (trailing < 0) throw corrupt('a value has more than 64 bits');
        control = 13;
      }
      pos += control;
      if (significant <= 32) {
        const bits = significant <= known - control ? w << control : peek(b, view, pos);
        const x = bits >>> (32 - significant);
        if (trailing >= 32) high ^= x << (trailing - 32);
        else {
          low ^= x << trailing;
          if (trailing !== 0) high ^= x >>> (32 - trailing);
        }
      } else {
        const xh = peek(b, view, pos) >>> (64 - significant);
        const xl = peek(b, view, pos + significant - 32);
        if (trailing === 0) {
          high ^= xh;
          low ^= xl;
        } else {
          high ^= (xh << trailing) | (xl >>> (32 - trailing));
          low ^= xl << trailing;
        }
      }
      pos += significant;
    }
    if (t < mint) continue;
    times[at] = t;
    words[2 * at + highWord] = high;
    words[2 * at + lowWord] = low;
    at++;
  }
  if (pos > limit) throw pastEnd();
  if (!Number.isSafeInteger(t) || !Number.isSafeInteger(delta)) throw corrupt('a timestamp is out of range');
  return at - from;
}

/** 32 bits at any bit position. */
function peek(b: Uint8Array, view: DataView, pos: number): number {
  const i = pos >>> 3;
  const shift = pos & 7;
  // A byte shifted by eight is nothing: no question whether the position is a byte's.
  return (view.getInt32(i) << shift) | (b[i + 4]! >>> (8 - shift));
}

let varintAt = 0;

/** A varint at byte `varintAt`, which is moved behind it. */
function readUvarint(b: Uint8Array): number {
  let value = 0;
  let scale = 1;
  for (let i = 0; i < maxVarintBytes; i++) {
    const byte = b[varintAt++]!;
    value += (byte & 127) * scale;
    if (byte < 128) {
      if (value > Number.MAX_SAFE_INTEGER) break;
      return value;
    }
    scale *= 128;
  }
  throw corrupt('a timestamp is out of range');
}

function pastEnd(): OperatorError {
  return corrupt('its samples reach past its end');
}

function corrupt(reason: string): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', `XOR chunk: ${reason}`);
}
