import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32c } from '../../base/wire/crc32c.ts';
import { ByteWriter } from '../bytes.ts';
import type { FileLayer } from '../disk/file-layer.ts';
import type { Labels } from '../labels.ts';
import type { Chunk } from '../types.ts';
import { blockMagic, encodeFooter } from './format.ts';
import type { ChunkPlace } from './format.ts';
import { IndexBuilder } from './index-builder.ts';

/** Approximate size of one write to the file. */
const batchBytes = 1 << 20;
/** After this many series the event loop gets a turn, so that other work does not wait for a block to be written. */
const seriesPerTurn = 500;

export interface BlockSource {
  readonly labels: Labels;
  readonly chunks: readonly Chunk[];
}

/** The file name of a block of the range [from, to), in ms; names sort by time. */
export function blockName(from: number, to: number): string {
  return `${String(from).padStart(15, '0')}-${String(to).padStart(15, '0')}.block`;
}

/**
 * Writes a block: temporary file, fsync, rename, fsync of the directory. After a crash either the whole block exists or
 * none.
 * Shape: `series` in label order; those without a chunk are left out. Returns the path and the number of series
 * written; undefined when there is no chunk at all: then no file is left.
 */
export async function writeBlock(
  dir: string,
  files: FileLayer,
  range: { readonly from: number; readonly to: number },
  series: Iterable<BlockSource>,
): Promise<{ readonly path: string; readonly series: number } | undefined> {
  const path = `${dir}/${blockName(range.from, range.to)}`;
  const temporary = `${path}.tmp`;
  await files.remove(temporary);
  const file = await files.openWrite(temporary, 'create');
  let count = 0;
  try {
    const out = new ByteWriter(batchBytes + 65_536);
    let written = 0;
    let samples = 0;
    const drain = async (): Promise<void> => {
      await file.write(out.view(), written);
      written += out.length;
      out.clear();
    };
    out.bytes(blockMagic);
    const index = new IndexBuilder();
    let seen = 0;
    for (const { labels, chunks } of series) {
      if (++seen % seriesPerTurn === 0) await nextTurn();
      if (chunks.length === 0) continue;
      const places: ChunkPlace[] = [];
      for (const { encoding, minT, maxT, count: inChunk, bytes } of chunks) {
        places.push({ encoding, minT, maxT, count: inChunk, offset: written + out.length, length: bytes.length });
        out.bytes(bytes);
        out.u32(crc32c(bytes));
        samples += inChunk;
      }
      index.add(labels, places);
      count++;
      if (out.length >= batchBytes) await drain();
    }
    const indexOffset = written + out.length;
    const indexBytes = index.finish();
    out.bytes(indexBytes);
    const indexCrc = crc32c(indexBytes);
    out.bytes(encodeFooter({ indexOffset, indexLength: indexBytes.length, indexCrc, ...range, samples }));
    await drain();
    await file.sync();
  } catch (error) {
    await file.close().catch(() => {});
    await files.remove(temporary).catch(() => {});
    throw error;
  }
  await file.close();
  if (count === 0) {
    await files.remove(temporary);
    return undefined;
  }
  await files.rename(temporary, path);
  await files.syncDir(dir);
  return { path, series: count };
}
