import { OperatorError } from '../../base/errors.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';
import type { Labels } from '../labels.ts';
import type { ChunkEncoding } from '../types.ts';

/**
 * A block is one file that never changes: magic, chunks (each followed by its CRC-32C, u32 LE), index, footer.
 * Footer: offset, length and CRC-32C of the index, time range [from, to), sample count, magic. The magic states the
 * version of the format. In this folder only the reader and the writer access files; all else is pure.
 */
export const blockMagic = new TextEncoder().encode('SVCBLK2\n');
export const footerBytes = 48;
/** Bytes of the checksum after each chunk. */
export const chunkCrcBytes = 4;

/** Position of one chunk of one series. Times in ms, `length` without the checksum. */
export interface ChunkPlace {
  readonly encoding: ChunkEncoding;
  readonly minT: number;
  readonly maxT: number;
  readonly count: number;
  readonly offset: number;
  readonly length: number;
}

export interface BlockSeries {
  readonly labels: Labels;
  readonly chunks: readonly ChunkPlace[];
}

export interface BlockFooter {
  readonly indexOffset: number;
  readonly indexLength: number;
  readonly indexCrc: number;
  /** The block has the samples of the range [from, to). Units: ms. */
  readonly from: number;
  readonly to: number;
  readonly samples: number;
}

export function encodeFooter(footer: BlockFooter): Uint8Array {
  const out = new ByteWriter(footerBytes);
  out.f64(footer.indexOffset);
  out.u32(footer.indexLength);
  out.u32(footer.indexCrc);
  out.f64(footer.from);
  out.f64(footer.to);
  out.f64(footer.samples);
  out.bytes(blockMagic);
  return out.view();
}

/** Errors: ERR_STORE_CORRUPT. */
export function decodeFooter(bytes: Uint8Array): BlockFooter {
  const known = bytes.length === footerBytes && blockMagic.every((b, i) => bytes[footerBytes - 8 + i] === b);
  if (!known) throw new OperatorError('ERR_STORE_CORRUPT', 'block: no footer');
  const reader = new ByteReader(bytes);
  const [indexOffset, indexLength, indexCrc] = [reader.f64(), reader.u32(), reader.u32()];
  return { indexOffset, indexLength, indexCrc, from: reader.f64(), to: reader.f64(), samples: reader.f64() };
}
