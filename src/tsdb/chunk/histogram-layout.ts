import { OperatorError } from '../../base/errors.ts';
import type { BitReader } from './bit-reader.ts';
import type { BitWriter } from './bit-writer.ts';
import { floatOf, highBits, lowBits } from './float-bits.ts';
import { customSchema, maxBuckets } from './native-histogram.ts';
import type { Span } from './native-histogram.ts';
import { putVarbitInt, putVarbitUint, readVarbitInt, readVarbitUint } from './varbit.ts';

/** The fields that all histograms of one chunk share. They precede the first sample. */
export interface HistogramLayout {
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly positiveSpans: readonly Span[];
  readonly negativeSpans: readonly Span[];
  readonly customValues: readonly number[];
}

/** Custom bounds up to this many thousandths are written as integers. */
const maxThousandths = 33_554_430;

export function putLayout(out: BitWriter, layout: HistogramLayout): void {
  putZeroThreshold(out, layout.zeroThreshold);
  putVarbitInt(out, layout.schema);
  putSpans(out, layout.positiveSpans);
  putSpans(out, layout.negativeSpans);
  if (layout.schema !== customSchema) return;
  putVarbitUint(out, layout.customValues.length);
  for (const bound of layout.customValues) putCustomBound(out, bound);
}

/** Reads what `putLayout` wrote. Errors: ERR_STORE_CORRUPT, also for an unknown schema. */
export function readLayout(reader: BitReader): HistogramLayout {
  const zeroThreshold = readZeroThreshold(reader);
  const schema = readVarbitInt(reader);
  if (!((schema >= -4 && schema <= 8) || schema === customSchema)) throw corrupt(`unknown schema ${schema}`);
  const positiveSpans = readSpans(reader);
  const negativeSpans = readSpans(reader);
  const customValues: number[] = [];
  if (schema === customSchema) {
    const count = readVarbitUint(reader);
    if (count > maxBuckets) throw corrupt('too many bounds');
    for (let i = 0; i < count; i++) customValues.push(readCustomBound(reader));
  }
  return { schema, zeroThreshold, positiveSpans, negativeSpans, customValues };
}

function putSpans(out: BitWriter, spans: readonly Span[]): void {
  putVarbitUint(out, spans.length);
  for (const { length, offset } of spans) {
    putVarbitUint(out, length);
    putVarbitInt(out, offset);
  }
}

function readSpans(reader: BitReader): Span[] {
  const count = readVarbitUint(reader);
  const spans: Span[] = [];
  let total = 0;
  for (let i = 0; i < count; i++) {
    const length = readVarbitUint(reader);
    total += length;
    if (total > maxBuckets || i > maxBuckets) throw corrupt('too many buckets');
    spans.push({ length, offset: readVarbitInt(reader) });
  }
  return spans;
}

/** One byte for 0 and for powers of two from 2^−243 to 2^10; otherwise the byte 255 and the double. */
function putZeroThreshold(out: BitWriter, threshold: number): void {
  if (threshold === 0) return out.put(0, 8);
  // For a power of two, the mantissa is zero, and the biased exponent e stands for 2^(e−1023) = 0.5·2^(e−1022).
  const high = highBits(threshold);
  const exponent = (high >>> 20) - 1022;
  const power = (high & 0xfffff) === 0 && lowBits(threshold) === 0 && exponent >= -242 && exponent <= 11;
  if (power) return out.put(exponent + 243, 8);
  out.put(255, 8);
  out.put64(high, lowBits(threshold));
}

function readZeroThreshold(reader: BitReader): number {
  const byte = reader.bits(8);
  if (byte === 0) return 0;
  return byte === 255 ? floatOf(reader.bits(32), reader.bits(32)) : 2 ** (byte - 244);
}

/** A whole number of thousandths is written as this number plus one; any other value as a 0 and the double. */
function putCustomBound(out: BitWriter, bound: number): void {
  const thousandths = bound * 1000;
  if (thousandths >= 0 && thousandths <= maxThousandths && Math.round(thousandths) / 1000 === bound) {
    return putVarbitUint(out, Math.round(thousandths) + 1);
  }
  out.put(0, 1);
  out.put64(highBits(bound), lowBits(bound));
}

function readCustomBound(reader: BitReader): number {
  const value = readVarbitUint(reader);
  return value === 0 ? floatOf(reader.bits(32), reader.bits(32)) : (value - 1) / 1000;
}

function corrupt(reason: string): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', `histogram chunk: ${reason}`);
}
