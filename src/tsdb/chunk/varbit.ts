import { OperatorError } from '../../base/errors.ts';
import type { BitReader } from './bit-reader.ts';
import type { BitWriter } from './bit-writer.ts';

/**
 * Prometheus' variable-length integers of histogram chunks: as many 1 bits as the number of the size bucket, a 0 bit
 * (the last size bucket has none), then the value in the bits of that size bucket.
 */
const bucketBits = [0, 3, 6, 9, 12, 18, 25, 56, 64] as const;

const two32 = 4_294_967_296;

/** Integers beyond this are not exact in a double: chunks with such counts are refused rather than read wrongly. */
const maxExact = Number.MAX_SAFE_INTEGER;

/** Writes a signed integer. A size bucket of n bits holds −(2^(n−1)−1) to 2^(n−1). */
export function putVarbitInt(out: BitWriter, value: number): void {
  let bucket = 0;
  if (value !== 0) {
    bucket = 1;
    while (bucket < 8) {
      const half = 2 ** (bucketBits[bucket]! - 1);
      if (value >= -(half - 1) && value <= half) break;
      bucket++;
    }
  }
  putBucket(out, bucket, value);
}

export function putVarbitUint(out: BitWriter, value: number): void {
  let bucket = 0;
  if (value !== 0) {
    bucket = 1;
    while (bucket < 8 && value >= 2 ** bucketBits[bucket]!) bucket++;
  }
  putBucket(out, bucket, value);
}

function putBucket(out: BitWriter, bucket: number, value: number): void {
  // n ones and a zero are 2^(n+1) − 2 in n+1 bits; the last bucket has eight ones and no zero.
  if (bucket === 8) out.put(255, 8);
  else out.put(2 ** (bucket + 1) - 2, bucket + 1);
  const bits = bucketBits[bucket]!;
  if (bits === 0) return;
  if (bits > 32) out.put(Math.floor(value / two32), bits - 32);
  out.put(value % two32, Math.min(bits, 32));
}

/** Errors: ERR_STORE_CORRUPT for an integer that a double cannot hold, and at the end of the bits. */
export function readVarbitInt(reader: BitReader): number {
  const bits = bucketBits[readBucket(reader)]!;
  if (bits === 0) return 0;
  if (bits === 64) return exact(reader.signed64());
  const value = bits > 32 ? reader.bits(bits - 32) * two32 + reader.bits(32) : reader.bits(bits);
  return exact(value > 2 ** (bits - 1) ? value - 2 ** bits : value);
}

export function readVarbitUint(reader: BitReader): number {
  const bits = bucketBits[readBucket(reader)]!;
  if (bits === 0) return 0;
  return exact(bits > 32 ? reader.bits(bits - 32) * two32 + reader.bits(32) : reader.bits(bits));
}

function readBucket(reader: BitReader): number {
  let bucket = 0;
  while (bucket < 8 && reader.bit() === 1) bucket++;
  return bucket;
}

function exact(value: number): number {
  if (value > maxExact || value < -maxExact) {
    throw new OperatorError('ERR_STORE_CORRUPT', 'chunk: an integer is out of range');
  }
  return value;
}
