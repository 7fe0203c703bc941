import type { Labels } from '../../types.ts';

/** A whole number modulo 2^64, in two halves of 32 bits. These are signed: V8 keeps such numbers without a box. */
class Half64 {
  high: number;
  low: number;

  constructor(high: number, low: number) {
    this.high = high | 0;
    this.low = low | 0;
  }

  /** Takes the value of another. */
  set({ high, low }: Half64): this {
    this.high = high;
    this.low = low;
    return this;
  }

  add({ high, low }: Half64): this {
    this.low = (this.low + low) | 0;
    this.high = (this.high + high + (this.low >>> 0 < low >>> 0 ? 1 : 0)) | 0;
    return this;
  }

  xor({ high, low }: Half64): this {
    this.high ^= high;
    this.low ^= low;
    return this;
  }

  /** Multiplies: the low halves by parts of 16 bits, as their product has 64. */
  times({ high, low }: Half64): this {
    const [a1, a0, b1, b0] = [this.low >>> 16, this.low & 0xffff, low >>> 16, low & 0xffff];
    const first = Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16);
    const second = Math.imul(a0, b1) + (first & 0xffff);
    const carried = Math.imul(a1, b1) + (first >>> 16) + (second >>> 16);
    this.high = (carried + Math.imul(this.high, low) + Math.imul(this.low, high)) | 0;
    this.low = Math.imul(this.low, low);
    return this;
  }

  /** Rotates to the left, by 1 to 31 bits. */
  rotate(bits: number): this {
    const { high, low } = this;
    this.high = (high << bits) | (low >>> (32 - bits));
    this.low = (low << bits) | (high >>> (32 - bits));
    return this;
  }

  /** Folds the number, shifted to the right, into itself. */
  xorShifted(bits: number): this {
    const { high, low } = this;
    if (bits >= 32) this.low ^= high >>> (bits - 32);
    else {
      this.high ^= high >>> bits;
      this.low ^= (low >>> bits) | (high << (32 - bits));
    }
    return this;
  }
}

const p1 = new Half64(0x9e3779b1, 0x85ebca87);
const p2 = new Half64(0xc2b2ae3d, 0x27d4eb4f);
const p3 = new Half64(0x165667b1, 0x9e3779f9);
const p4 = new Half64(0x85ebca77, 0xc2b2ae63);
const p5 = new Half64(0x27d4eb2f, 0x165667c5);

const copyOf = ({ high, low }: Half64): Half64 => new Half64(high, low);
const lane = new Half64(0, 0);

/** Reads 8 bytes. */
function read(bytes: Buffer, at: number): Half64 {
  lane.low = bytes.readInt32LE(at);
  lane.high = bytes.readInt32LE(at + 4);
  return lane;
}

const round = (sum: Half64, input: Half64): Half64 => sum.add(input.times(p2)).rotate(31).times(p1);

/** xxHash64 with seed 0, as its high and its low 32 bits. */
export function xxHash64(bytes: Buffer): [number, number] {
  let at = 0;
  const hash = copyOf(p5);
  if (bytes.length >= 32) {
    // The first is p1 + p2, the last −p1.
    const sums = [copyOf(p1).add(p2), copyOf(p2), new Half64(0, 0), new Half64(~p1.high, -p1.low)] as const;
    for (; at + 32 <= bytes.length; at += 32) {
      round(sums[0], read(bytes, at));
      round(sums[1], read(bytes, at + 8));
      round(sums[2], read(bytes, at + 16));
      round(sums[3], read(bytes, at + 24));
    }
    hash.set(copyOf(sums[0]).rotate(1)).add(copyOf(sums[1]).rotate(7));
    hash.add(copyOf(sums[2]).rotate(12)).add(copyOf(sums[3]).rotate(18));
    for (const sum of sums)
      hash
        .xor(round(new Half64(0, 0), sum))
        .times(p1)
        .add(p4);
  }
  hash.add(new Half64(0, bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    hash
      .xor(round(new Half64(0, 0), read(bytes, at)))
      .rotate(27)
      .times(p1)
      .add(p4);
  }
  if (at + 4 <= bytes.length) {
    hash
      .xor(new Half64(0, bytes.readInt32LE(at)).times(p1))
      .rotate(23)
      .times(p2)
      .add(p3);
    at += 4;
  }
  for (; at < bytes.length; at++) hash.xor(new Half64(0, bytes[at]!).times(p5)).rotate(11).times(p1);
  hash.xorShifted(33).times(p2).xorShifted(29).times(p3).xorShifted(32);
  return [hash.high >>> 0, hash.low >>> 0];
}

/**
 * A fraction in [0, 1) that depends only on the labels: the hash that Prometheus' sampling uses, over its
 * length-prefixed encoding of names and values.
 */
export function labelsFraction(labels: Labels): number {
  const parts: Buffer[] = [];
  for (const pair of labels) {
    for (const text of pair) {
      const bytes = Buffer.from(text);
      const size =
        bytes.length < 255
          ? Buffer.from([bytes.length])
          : Buffer.from([255, bytes.length & 255, (bytes.length >> 8) & 255, bytes.length >> 16]);
      parts.push(size, bytes);
    }
  }
  const [high, low] = xxHash64(Buffer.concat(parts));
  return (high * 2 ** 32 + low) / 2 ** 64;
}
