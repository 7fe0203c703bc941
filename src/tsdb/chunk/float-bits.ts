/**
 * Floats as (high, low) uint32 pairs. A value that must be kept bit for bit (a stale marker is a NaN with a payload)
 * never travels as a JavaScript number, because engines may replace one NaN by another.
 * Source of the two bit patterns: Prometheus model/value.
 */
export const staleHigh = 0x7ff00000;
export const staleLow = 0x00000002;
/** The one NaN that is stored for every ordinary NaN. */
const nanHigh = 0x7ff80000;
const nanLow = 0x00000001;

const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);
const littleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Index of the high and of the low word of a double in an aliasing Uint32Array. */
export const highWord = littleEndian ? 1 : 0;
export const lowWord = littleEndian ? 0 : 1;

/** High 32 bits of a number's double, unsigned. */
export function highBits(value: number): number {
  if (value !== value) return nanHigh;
  float[0] = value;
  return words[highWord]!;
}

/** Low 32 bits of a number's double, unsigned. */
export function lowBits(value: number): number {
  if (value !== value) return nanLow;
  float[0] = value;
  return words[lowWord]!;
}

/** The number of a bit pattern. Every NaN, stale markers included, becomes a plain NaN: call `isStale` first. */
export function floatOf(high: number, low: number): number {
  words[highWord] = high;
  words[lowWord] = low;
  return float[0]!;
}

export function isStale(high: number, low: number): boolean {
  return high >>> 0 === staleHigh && low >>> 0 === staleLow;
}
