import { crc32c } from '../../base/wire/crc32c.ts';
import { isBlameless, OperatorError } from '../../base/errors.ts';
import { decodePoints, encodePoints, recutChunk } from '../chunk/index.ts';
import type { FileLayer, ReadableFile } from '../disk/file-layer.ts';
import type { Chunk } from '../types.ts';
import { chunkCrcBytes, decodeFooter, footerBytes } from './format.ts';
import type { ChunkPlace } from './format.ts';
import { PagedBlockIndex } from './index-reader.ts';
import { isDeleted } from './tombstones.ts';
import type { Interval, Tombstones } from './tombstones.ts';

/** Bytes of one read when a block is read from front to back. */
const windowBytes = 256 * 1024;

/** A finished block, open for reading. Chunks are read from the file on demand. */
export class Block {
  readonly path: string;
  readonly bytes: number;
  /** The block has the samples of the range [from, to). Units: ms. */
  readonly from: number;
  readonly to: number;
  readonly samples: number;
  readonly index: PagedBlockIndex;
  /** Checksum of the index: it identifies the content of the block. */
  readonly indexCrc: number;
  /** The samples deleted since the block was written. */
  tombstones: Tombstones = new Map();
  readonly #file: ReadableFile;
  readonly #size: number;
  #window: Uint8Array = new Uint8Array(0);
  #windowAt = 0;
  /** Whether chunks that were read may still be views of the window: the next read then must not overwrite it. */
  #isHeld = false;
  #nextRead = -1;
  #readers = 0;
  #retired = false;
  #closed = false;
  #newestMs: number | undefined;

  private constructor(path: string, size: number, file: ReadableFile) {
    this.path = path;
    this.bytes = size;
    this.#file = file;
    this.#size = size;
    if (size < footerBytes) throw corrupt(path, 'shorter than its footer');
    const footer = decodeFooter(file.read(size - footerBytes, footerBytes));
    if (!(footer.indexOffset >= 0) || footer.indexOffset + footer.indexLength + footerBytes !== size) {
      throw corrupt(path, 'footer does not fit the file');
    }
    this.from = footer.from;
    this.to = footer.to;
    this.samples = footer.samples;
    this.indexCrc = footer.indexCrc;
    this.index = new PagedBlockIndex(file.read(footer.indexOffset, footer.indexLength), footer.indexCrc);
  }

  /** Errors: ERR_STORE_CORRUPT for a file that is not a whole block. */
  static async open(path: string, files: FileLayer): Promise<Block> {
    const { bytes: size } = await files.stat(path);
    const file = files.openRead(path);
    try {
      return new Block(path, size, file);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Time of the newest sample that was written. The first call reads the records of all series. Unit: ms. */
  get newestMs(): number {
    if (this.#newestMs !== undefined) return this.#newestMs;
    let newest = -Infinity;
    for (let i = 0; i < this.index.seriesCount; i++) {
      newest = Math.max(newest, this.index.series(i).chunks.at(-1)?.maxT ?? -Infinity);
    }
    return (this.#newestMs = newest);
  }

  /** Like `readChunks`, but the bytes of the chunks are valid only until the next read of this block. */
  lendChunks(ordinal: number, places: readonly ChunkPlace[]): Chunk[] {
    const window = this.#window;
    const wasHeld = this.#isHeld;
    const chunks = this.readChunks(ordinal, places);
    this.#isHeld = wasHeld && this.#window === window;
    return chunks;
  }

  /**
   * Reads chunks of one series, without its deleted samples. The bytes of the chunks may be views of a larger buffer.
   * Errors: ERR_STORE_CORRUPT for a wrong checksum: damaged bytes are never returned. Those of the system, if this
   * process lacks the means to read.
   */
  readChunks(ordinal: number, places: readonly ChunkPlace[]): Chunk[] {
    const intervals = this.tombstones.get(ordinal);
    const chunks = places.map((place) => this.#readChunk(place));
    return intervals ? chunks.flatMap((chunk) => withoutDeleted(chunk, intervals)) : chunks;
  }

  /**
   * Whether a series has a sample in [mint, maxt]; all given chunks overlap this range. Reads chunks only if none of
   * them begins or ends within the range, or if samples of the series were deleted. Errors: as `readChunks`.
   */
  hasSamples(ordinal: number, places: readonly ChunkPlace[], mint: number, maxt: number): boolean {
    if (!this.tombstones.has(ordinal) && places.some((place) => place.minT >= mint || place.maxT <= maxt)) return true;
    return this.lendChunks(ordinal, places).some((chunk) => recutChunk(chunk, mint, maxt) !== undefined);
  }

  #readChunk({ encoding, minT, maxT, count, offset, length }: ChunkPlace): Chunk {
    const window = this.#bring(offset, length + chunkCrcBytes);
    this.#isHeld = true;
    const at = offset - this.#windowAt;
    const end = at + length;
    const stored = window[end]! | (window[end + 1]! << 8) | (window[end + 2]! << 16) | (window[end + 3]! << 24);
    const crc = stored >>> 0;
    if (crc32c(window, 0, at, end) !== crc) throw corrupt(this.path, `chunk at ${offset} fails its checksum`);
    return { encoding, minT, maxT, count, bytes: window.subarray(at, end), crc };
  }

  /**
   * Moves the read window so that it contains these bytes, and returns it. An isolated chunk is read alone, sequential
   * chunks with the bytes after them.
   */
  #bring(offset: number, length: number): Uint8Array {
    const from = offset - this.#windowAt;
    if (from >= 0 && from + length <= this.#window.length) return this.#window;
    const sequential = this.#nextRead >= 0 && offset >= this.#nextRead && offset - this.#nextRead < 4096;
    this.#nextRead = offset + length;
    const wanted = sequential ? Math.min(Math.max(windowBytes, length), this.#size - offset) : length;
    this.#window = this.#fileRead(offset, wanted, this.#isHeld ? undefined : this.#window);
    this.#windowAt = offset;
    this.#isHeld = false;
    return this.#window;
  }

  #fileRead(offset: number, length: number, into?: Uint8Array): Uint8Array {
    // The number of a closed file may be that of another file now.
    if (this.#closed) throw new RangeError(`block ${this.path}: read after it was closed`);
    try {
      return this.#file.read(offset, length, into);
    } catch (cause) {
      if (isBlameless(cause)) throw cause;
      throw new OperatorError('ERR_STORE_CORRUPT', `block ${this.path}: cannot be read at ${offset}`, { cause });
    }
  }

  /**
   * Keeps the file open until the matching `release`, even if the block is retired meanwhile. Assumption: the block is
   * in the set of the store, so its file is still open.
   */
  acquire(): void {
    this.#readers++;
  }

  release(): void {
    this.#readers--;
    this.#closeIfDone();
  }

  /** Closes the file once its last reader is done. May be called twice. */
  retire(): void {
    this.#retired = true;
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#readers > 0) return;
    this.#window = new Uint8Array(0);
    this.#isHeld = false;
    if (!this.#retired || this.#closed) return;
    this.#closed = true;
    this.#file.close();
  }
}

function withoutDeleted(chunk: Chunk, intervals: readonly Interval[]): Chunk[] {
  const touched = intervals.filter(({ mint, maxt }) => mint <= chunk.maxT && maxt >= chunk.minT);
  if (touched.length === 0) return [chunk];
  const points = decodePoints(chunk).filter(({ t }) => !isDeleted(touched, t));
  return encodePoints(points, Infinity);
}

function corrupt(path: string, reason: string): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', `block ${path}: ${reason}`);
}
