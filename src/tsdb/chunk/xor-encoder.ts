import { highWord, lowWord } from './float-bits.ts';
import { putPair, putWord } from './put-bits.ts';
import { row, rowDoubles, rowWords, type XorStates } from './xor-states.ts';

/** Times outside ±2^51 ms would make a delta of deltas inexact in a double. */
export const maxTimestamp = 2 ** 51;
/** The chunk's sample count has 16 bits. */
const maxChunkSamples = 65_535;
/**
 * The largest sample: two varints, or 68 bits of time and 77 of value, plus the bytes behind it that a write of bits
 * may touch.
 */
export const maxSampleBytes = 28;

const two32 = 4_294_967_296;

/**
 * Adds samples [from, to) of two columns to chunk `s`, whose first byte is `view[base]`. After the written bits,
 * `maxSampleBytes` for each new sample must be free. `values` are the words of doubles, in machine order.
 * Shape of a chunk: u16 BE count, then bits, most significant first: t0 as zig-zag varint and v0; t1−t0 as uvarint and
 * a value; then delta-of-delta and value for each sample (Facebook's Gorilla paper; Prometheus tsdb/chunkenc).
 * The caller writes the count when the chunk is read: writing it for each sample would touch one more cache line. The
 * state is kept in local variables during a call, so many samples are cheaper in one call than in many.
 * Errors: RangeError for a time out of order or out of range, and for a full chunk; then nothing was added.
 */
export function encodeXor(
  states: XorStates,
  s: number,
  view: DataView,
  base: number,
  times: Float64Array,
  values: Uint32Array,
  from: number,
  to: number,
): void {
  const { doubles, words } = states;
  const d = s * rowDoubles;
  const w = s * rowWords;
  const counts = words[w + row.counts]!;
  let n = counts >>> 16;
  if (n + to - from > maxChunkSamples) throw new RangeError('chunk is full');
  const at = base * 8;
  let pos = at + words[w + row.bits]!;
  let t = doubles[d + row.maxT]!;
  let delta = doubles[d + row.delta]!;
  let high = words[w + row.high]!;
  let low = words[w + row.low]!;
  /** −1 while there is no window of significant bits. */
  let leading = ((counts >>> 8) & 0xff) - 1;
  let trailing = counts & 0xff;
  let i = from;
  if (n === 0 && i < to) {
    t = times[i]!;
    assertTime(t, 0);
    high = values[2 * i + highWord]! | 0;
    low = values[2 * i + lowWord]! | 0;
    pos = putUvarint(view, pos, t >= 0 ? t * 2 : t * -2 - 1);
    putPair(view, pos, high, low);
    pos += 64;
    n = 1;
    i++;
    doubles[d + row.minT] = t;
  }
  for (; i < to; i++) {
    const newDelta = times[i]! - t;
    /** The sample's first bits, at the top of a word, and their number. */
    let head = 0;
    let headBits = 0;
    if (n > 1) {
      const dod = newDelta - delta;
      if (dod === 0) headBits = 1;
      else {
        assertTime(times[i]!, newDelta);
        if (dod >= -8191 && dod <= 8192) {
          head = (0x8000 | (dod & 0x3fff)) << 16;
          headBits = 16;
        } else pos = putDeltaOfDelta(view, pos, dod);
      }
    } else {
      assertTime(times[i]!, newDelta);
      pos = putUvarint(view, pos, newDelta);
    }
    delta = newDelta;
    t = times[i]!;
    n++;
    const xh = (values[2 * i + highWord]! | 0) ^ high;
    const xl = (values[2 * i + lowWord]! | 0) ^ low;
    if ((xh | xl) === 0) {
      putWord(view, pos, head);
      pos += headBits + 1;
      continue;
    }
    high ^= xh;
    low ^= xl;
    const zeros = Math.min(31, xh !== 0 ? Math.clz32(xh) : 32 + Math.clz32(xl));
    const zerosBehind = xl !== 0 ? 31 - Math.clz32(xl & -xl) : 63 - Math.clz32(xh & -xh);
    if (leading >= 0 && zeros >= leading && zerosBehind >= trailing) {
      head |= 0x80000000 >>> headBits;
      headBits += 2;
    } else {
      leading = zeros;
      trailing = zerosBehind;
      head |= (((3 << 11) | (leading << 6) | ((64 - leading - trailing) & 63)) << 19) >>> headBits;
      headBits += 13;
    }
    const significant = 64 - leading - trailing;
    const tail = shifted(xh, xl, trailing);
    if (significant <= 32) {
      const bits = tail << (32 - significant);
      const first = head | (bits >>> headBits);
      if (headBits + significant <= 32) putWord(view, pos, first);
      else putPair(view, pos, first, bits << (32 - headBits));
      pos += headBits + significant;
    } else {
      putWord(view, pos, head);
      pos += headBits;
      // Aligned to the top of two words. A shift by 0 is a case of its own, because JavaScript shifts by 32 as by 0.
      const shift = 64 - significant;
      const first = xh >>> trailing;
      putPair(view, pos, shift === 0 ? first : (first << shift) | (tail >>> (32 - shift)), tail << shift);
      pos += significant;
    }
  }
  doubles[d + row.maxT] = t;
  doubles[d + row.delta] = delta;
  words[w + row.high] = high;
  words[w + row.low] = low;
  words[w + row.bits] = pos - at;
  words[w + row.counts] = (n << 16) | ((leading + 1) << 8) | trailing;
}

/** The low word of (xh, xl) shifted right. */
function shifted(xh: number, xl: number, shift: number): number {
  if (shift >= 32) return xh >>> (shift - 32);
  return shift === 0 ? xl : (xl >>> shift) | (xh << (32 - shift));
}

/** Writes one of the rarer, longer forms. Returns the position after it. An n-bit form holds −(2^(n−1)−1) … 2^(n−1). */
function putDeltaOfDelta(view: DataView, pos: number, dod: number): number {
  if (dod >= -65_535 && dod <= 65_536) {
    putWord(view, pos, (0xc0000 | (dod & 0x1ffff)) << 12);
    return pos + 20;
  }
  if (dod >= -524_287 && dod <= 524_288) {
    putWord(view, pos, (0xe00000 | (dod & 0xfffff)) << 8);
    return pos + 24;
  }
  putWord(view, pos, 15 << 28);
  putPair(view, pos + 4, Math.floor(dod / two32), dod);
  return pos + 68;
}

function putUvarint(view: DataView, start: number, value: number): number {
  let pos = start;
  let rest = value;
  while (rest > 127) {
    putWord(view, pos, ((rest % 128) | 128) << 24);
    pos += 8;
    rest = Math.floor(rest / 128);
  }
  putWord(view, pos, rest << 24);
  return pos + 8;
}

function assertTime(t: number, delta: number): void {
  if (!(t <= maxTimestamp && t >= -maxTimestamp) || !Number.isInteger(t))
    throw new RangeError(`timestamp ${t} out of range`);
  if (delta < 0) throw new RangeError(`timestamp ${t} out of order`);
}
