import { OperatorError } from '../../base/errors.ts';
import { highWord, lowWord } from './float-bits.ts';
import type { SampleBuffer } from './sample-buffer.ts';
import { row, rowDoubles, rowWords, XorStates } from './xor-states.ts';

const two32 = 4_294_967_296;
const maxVarintBytes = 10;

/**
 * Chunks that are not decoded in place are first copied to this buffer. A load reads five bytes and may reach past a
 * chunk's end: in the buffer it always finds memory, and a chunk that needs bits from past its end is refused. The
 * buffer grows to the largest chunk so far. Decoding never suspends, so one buffer is enough.
 */
let scratch = new Uint8Array(4096);
let scratchView = new DataView(scratch.buffer);

/** Number of samples in a chunk, from its header. */
export function chunkSampleCount(bytes: Uint8Array): number {
  return bytes.length < 2 ? 0 : (bytes[0]! << 8) | bytes[1]!;
}

/** The decoder's position in a chunk that is read without a mark (a kept position at which a later read begins). */
const alone = new XorStates(1);

/** Bytes that must be readable after a chunk that is decoded in place. */
export const slackBytes = 24;

/**
 * Decodes one XOR chunk and appends its samples from `mint` on to `out`; earlier samples are decoded but not written.
 * Returns the number of appended samples.
 * Safe on untrusted bytes: a chunk whose bits end early, or whose numbers are out of range, is refused as a whole.
 * Errors: ERR_STORE_CORRUPT; `out.length` is then unchanged.
 */
export function decodeXorChunk(bytes: Uint8Array, out: SampleBuffer, mint = -Infinity): number {
  const count = chunkSampleCount(bytes);
  if (bytes.length < 2) throw corrupt('shorter than its header');
  if (count === 0) return 0;
  const length = bytes.length;
  if (scratch.length < length + slackBytes) {
    scratch = new Uint8Array(length * 2 + slackBytes);
    scratchView = new DataView(scratch.buffer);
  }
  scratch.set(bytes);
  begin(scratch, scratchView, 0, alone, 0);
  return decodeOn({ page: scratch, view: scratchView, at: 0, bits: length * 8, count }, out, mint, alone, 0, false);
}

/** A chunk of floats inside a page of memory, with `slackBytes` readable after it. */
export interface XorPlace {
  readonly page: Uint8Array;
  readonly view: DataView;
  /** The index of its first byte. */
  readonly at: number;
  /** Its length in bits, header included. */
  readonly bits: number;
  readonly count: number;
}

/**
 * Like `decodeXorChunk`, for a chunk of the head. Row `s` of `marks` records the first sample from `mint` on, as the
 * state of the writer after that sample: a later read from the same or a later time begins there. Without `marks`
 * nothing is recorded.
 * Assumptions: samples of a marked chunk never change, and a row is only used for chunks of one series.
 */
export function decodeMarked(
  place: XorPlace,
  minT: number,
  mint: number,
  out: SampleBuffer,
  marks: XorStates | null,
  s: number,
): void {
  if (minT >= mint || marks === null) {
    begin(place.page, place.view, place.at, alone, 0);
    decodeOn(place, out, mint, alone, 0, false);
    return;
  }
  const { doubles } = marks;
  const known = s * rowDoubles;
  const isMarked =
    doubles[known + row.minT] === minT &&
    marks.count(s) > 0 &&
    marks.count(s) <= place.count &&
    doubles[known + row.maxT]! - doubles[known + row.delta]! < mint;
  if (!isMarked) begin(place.page, place.view, place.at, marks, s);
  decodeOn(place, out, mint, marks, s, true);
}

/** Puts the state after a chunk's first sample into row `s`. */
function begin(page: Uint8Array, view: DataView, at: number, states: XorStates, s: number): void {
  varintAt = at + 2;
  const first = readUvarint(page);
  const t = first % 2 === 0 ? first / 2 : -(first + 1) / 2;
  const pos = varintAt * 8;
  const { doubles, words } = states;
  doubles[s * rowDoubles + row.minT] = t;
  doubles[s * rowDoubles + row.maxT] = t;
  doubles[s * rowDoubles + row.delta] = 0;
  words[s * rowWords + row.high] = peek(page, view, pos);
  words[s * rowWords + row.low] = peek(page, view, pos + 32);
  words[s * rowWords + row.bits] = pos + 64 - at * 8;
  words[s * rowWords + row.counts] = 1 << 16;
}

/**
 * Appends the sample of row `s` and all later samples, except those before `mint`. With `isMarking`, moves the row to
 * the first appended sample.
 */
function decodeOn(
  place: XorPlace,
  out: SampleBuffer,
  mint: number,
  states: XorStates,
  s: number,
  isMarking: boolean,
): number {
  out.reserve(place.count);
  const { times, words } = out;
  const from = out.length;
  let to = from;
  const t = states.maxT(s);
  if (t >= mint) {
    times[to] = t;
    words[2 * to + highWord] = states.high(s);
    words[2 * to + lowWord] = states.low(s);
    to++;
  } else if (isMarking) to = decode(place, mint, states, s, times, words, to, to + 1);
  if (!isMarking || to > from) to = decode(place, mint, states, s, times, words, to, -1);
  out.length = to;
  return to - from;
}

/**
 * Decodes the samples after the state in row `s`, and writes them from index `from` on. Returns the index after the
 * last one. Stops at the chunk's end, or at index `stop`; in the latter case the row is moved to the sample written
 * last. One load of 32 bits serves a sample's time and value when both are short, as in most chunks.
 * Errors: ERR_STORE_CORRUPT for samples that reach past the chunk's bits.
 */
function decode(
  { page: b, view, at: start, bits, count }: XorPlace,
  mint: number,
  states: XorStates,
  s: number,
  times: Float64Array,
  words: Uint32Array,
  from: number,
  stop: number,
): number {
  const base = start * 8;
  const limit = base + bits;
  const counts = states.words[s * rowWords + row.counts]!;
  let i = counts >>> 16;
  let leading = Math.max(0, ((counts >>> 8) & 0xff) - 1);
  let trailing = counts & 0xff;
  let pos = base + states.bits(s);
  let high = states.high(s);
  let low = states.low(s);
  let t = states.maxT(s);
  let delta = states.doubles[s * rowDoubles + row.delta]!;
  let at = from;
  for (; i < count; i++) {
    if (at === stop) break;
    if (pos >= limit) throw pastEnd();
    /** The bits at `pos`, of which the first `known` are valid. */
    let w: number;
    let known = 32;
    if (i > 1) {
      w = peek(b, view, pos);
      if (w === 0) {
        // 32 zero bits are 16 samples whose interval and value are unchanged, two bits each. Such runs are long.
        const end = Math.min(i + 16, count);
        for (; i < end && at !== stop; i++) {
          pos += 2;
          t += delta;
          if (t < mint) continue;
          times[at] = t;
          words[2 * at + highWord] = high;
          words[2 * at + lowWord] = low;
          at++;
        }
        i--;
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
  if (at === stop) {
    states.doubles[s * rowDoubles + row.maxT] = t;
    states.doubles[s * rowDoubles + row.delta] = delta;
    states.words[s * rowWords + row.high] = high;
    states.words[s * rowWords + row.low] = low;
    states.words[s * rowWords + row.bits] = pos - base;
    states.words[s * rowWords + row.counts] = (i << 16) | ((leading + 1) << 8) | trailing;
  }
  return at;
}

/** 32 bits at any bit position. */
function peek(b: Uint8Array, view: DataView, pos: number): number {
  const i = pos >>> 3;
  const shift = pos & 7;
  // A shift by eight clears the byte: byte-aligned positions need no special case.
  return (view.getInt32(i) << shift) | (b[i + 4]! >>> (8 - shift));
}

let varintAt = 0;

/** Reads the varint at byte `varintAt`, and moves `varintAt` past it. */
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
