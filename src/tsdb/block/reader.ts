import { crc32c } from '../../base/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import type { FileLayer, ReadableFile } from '../file-layer.ts';
import type { XorChunk } from '../types.ts';
import { BlockIndex, decodeFooter, footerBytes } from './format.ts';
import type { ChunkPlace } from './format.ts';

/** A finished block, open for reading. Chunks are read from the file when they are asked for. */
export class Block {
  readonly path: string;
  readonly bytes: number;
  /** The aligned range [from, to), ms. */
  readonly from: number;
  readonly to: number;
  readonly samples: number;
  readonly index: BlockIndex;
  readonly #file: ReadableFile;
  #readers = 0;
  #retired = false;

  private constructor(path: string, size: number, file: ReadableFile) {
    this.path = path;
    this.bytes = size;
    this.#file = file;
    if (size < footerBytes) throw new OperatorError('ERR_STORE_CORRUPT', 'block: shorter than its footer');
    const footer = decodeFooter(file.read(size - footerBytes, footerBytes));
    if (!(footer.indexOffset >= 0) || footer.indexOffset + footer.indexLength + footerBytes !== size) {
      throw new OperatorError('ERR_STORE_CORRUPT', 'block: footer does not fit the file');
    }
    this.from = footer.from;
    this.to = footer.to;
    this.samples = footer.samples;
    this.index = new BlockIndex(file.read(footer.indexOffset, footer.indexLength), footer.indexCrc);
  }

  /** Errors: ERR_STORE_CORRUPT for a file that is not a whole block. */
  static async open(path: string, files: FileLayer): Promise<Block> {
    const size = await files.size(path);
    const file = files.openRead(path);
    try {
      return new Block(path, size, file);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Errors: ERR_STORE_CORRUPT when the bytes do not have their checksum: nothing wrong is ever returned. */
  readChunk({ minT, maxT, count, offset, length }: ChunkPlace): XorChunk {
    const bytes = this.#file.read(offset, length + 4);
    const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(length, true);
    if (crc32c(bytes, 0, 0, length) !== stored) {
      throw new OperatorError('ERR_STORE_CORRUPT', `block ${this.path}: chunk at ${offset} fails its checksum`);
    }
    return { minT, maxT, count, bytes: bytes.subarray(0, length) };
  }

  /** Keeps the file open until the matching `release`, even if the block is retired meanwhile. */
  acquire(): void {
    this.#readers++;
  }

  release(): void {
    this.#readers--;
    this.#closeIfDone();
  }

  /** Closes the file as soon as nobody reads it. */
  retire(): void {
    this.#retired = true;
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#retired && this.#readers <= 0) this.#file.close();
  }
}
