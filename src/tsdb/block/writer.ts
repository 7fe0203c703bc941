import { crc32c } from '../../base/crc32c.ts';
import { ByteWriter } from '../bytes.ts';
import type { FileLayer } from '../file-layer.ts';
import type { Labels } from '../labels.ts';
import type { XorChunk } from '../types.ts';
import { blockMagic, encodeFooter, encodeIndex } from './format.ts';
import type { BlockSeries, ChunkPlace } from './format.ts';

/** Bytes are handed to the disk in pieces of about this size; between two the event loop runs. */
const batchBytes = 1 << 20;

export interface BlockSource {
  readonly labels: Labels;
  readonly chunks: readonly XorChunk[];
}

/** The file name of a block of the range [from, to), in ms; names sort by time. */
export function blockName(from: number, to: number): string {
  return `${String(from).padStart(15, '0')}-${String(to).padStart(15, '0')}.block`;
}

/**
 * Writes a block: temporary file, fsync, rename, fsync of the directory. After a crash there is the whole block or none.
 * Shape: `series` in label order, each with at least one chunk. Returns the file's path.
 */
export async function writeBlock(
  dir: string,
  files: FileLayer,
  range: { readonly from: number; readonly to: number },
  series: Iterable<BlockSource>,
): Promise<string> {
  const path = `${dir}/${blockName(range.from, range.to)}`;
  const temporary = `${path}.tmp`;
  await files.remove(temporary);
  const file = await files.openWrite(temporary, 'create');
  try {
    const out = new ByteWriter(batchBytes + 65_536);
    let written = 0;
    let samples = 0;
    const drain = async (): Promise<void> => {
      const bytes = out.take();
      await file.write(bytes, written);
      written += bytes.length;
    };
    out.bytes(blockMagic);
    const index: BlockSeries[] = [];
    for (const { labels, chunks } of series) {
      const places: ChunkPlace[] = [];
      for (const chunk of chunks) {
        places.push({ ...chunk, offset: written + out.length, length: chunk.bytes.length });
        out.bytes(chunk.bytes);
        out.u32(crc32c(chunk.bytes));
        samples += chunk.count;
        if (out.length >= batchBytes) await drain();
      }
      index.push({ labels, chunks: places });
    }
    const indexOffset = written + out.length;
    const indexBytes = encodeIndex(index);
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
  await files.rename(temporary, path);
  await files.syncDir(dir);
  return path;
}
