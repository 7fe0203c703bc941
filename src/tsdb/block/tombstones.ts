import { crc32c } from '../../base/wire/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';

/** A closed range of times, ms. */
export interface Interval {
  readonly mint: number;
  readonly maxt: number;
}

/** The deleted samples of a block: ordinal of a series → time ranges, ascending, which do not touch each other. */
export type Tombstones = ReadonlyMap<number, readonly Interval[]>;

const magic = new TextEncoder().encode('SVCTMB1\n');

/**
 * Shape: magic, payload (checksum of the block's index; number of series; for each series: its ordinal, the number of
 * its ranges, the ranges), CRC-32C. Ordinals are only valid for that index: after the block is rewritten, its old
 * tombstones are ignored.
 */
export function encodeTombstones(indexCrc: number, tombstones: Tombstones): Uint8Array {
  const out = new ByteWriter(1024);
  out.u32(indexCrc);
  out.varint(tombstones.size);
  for (const [ordinal, intervals] of tombstones) {
    out.varint(ordinal);
    out.varint(intervals.length);
    for (const { mint, maxt } of intervals) {
      out.f64(mint);
      out.f64(maxt);
    }
  }
  const payload = out.take();
  out.bytes(magic);
  out.bytes(payload);
  out.u32(crc32c(payload));
  return out.view();
}

/** Decodes tombstones; empty when they belong to another index. Errors: ERR_STORE_CORRUPT. */
export function decodeTombstones(bytes: Uint8Array, indexCrc: number): Map<number, readonly Interval[]> {
  const end = bytes.length - 4;
  const sound =
    end >= magic.length &&
    magic.every((b, i) => bytes[i] === b) &&
    crc32c(bytes, 0, magic.length, end) === new ByteReader(bytes, end).u32();
  if (!sound) throw new OperatorError('ERR_STORE_CORRUPT', 'tombstones: checksum or magic');
  const reader = new ByteReader(bytes, magic.length, end);
  const tombstones = new Map<number, readonly Interval[]>();
  if (reader.u32() !== indexCrc) return tombstones;
  for (let n = reader.varint(); n > 0; n--) {
    const ordinal = reader.varint();
    const intervals: Interval[] = [];
    for (let k = reader.varint(); k > 0; k--) intervals.push({ mint: reader.f64(), maxt: reader.f64() });
    tombstones.set(ordinal, intervals);
  }
  return tombstones;
}

/** The ranges plus one more, joined where they meet. Times are whole ms. */
export function addInterval(intervals: readonly Interval[], added: Interval): Interval[] {
  const out: Interval[] = [];
  let { mint, maxt } = added;
  for (const interval of intervals) {
    if (interval.maxt + 1 < mint || interval.mint - 1 > maxt) out.push(interval);
    else {
      mint = Math.min(mint, interval.mint);
      maxt = Math.max(maxt, interval.maxt);
    }
  }
  out.push({ mint, maxt });
  return out.sort((a, b) => a.mint - b.mint);
}

export function isDeleted(intervals: readonly Interval[], t: number): boolean {
  return intervals.some(({ mint, maxt }) => t >= mint && t <= maxt);
}
