import { slackBytes } from '../chunk/index.ts';
import { FreeRuns, grainBytes } from './free-runs.ts';

const grainBits = Math.log2(grainBytes);
const pageBits = 18;
const pageBytes = 1 << pageBits;
const grainsPerPage = pageBytes / grainBytes;
/** Pieces of more bytes than these get a page of their own. */
const maxShared = 32_768;

/**
 * Allocates small pieces of bytes in large pages: an array object for each chunk would cost as much as the chunk.
 * Shape: an address is page × 2^13 + offset / 32, which fits a 32-bit word up to 128 GiB. Sizes are rounded up to 32
 * bytes. Free pieces that lie side by side are joined, so that the small pieces that growing chunks leave make room for
 * larger ones. Pages without a piece are given back to the system, except for one. Chunks may be decoded in place.
 */
export class Slab {
  readonly #pages: (Uint8Array | undefined)[] = [];
  readonly #views: (DataView | undefined)[] = [];
  readonly #free = new FreeRuns(grainsPerPage);
  readonly #freePages: number[] = [];
  /** An empty page that is kept for new pieces; −1 for none. */
  #spare = -1;
  bytes = 0;

  /** The allocated bytes of a piece of `size`. */
  capacity(size: number): number {
    return size <= maxShared ? grainsOf(size) * grainBytes : size;
  }

  alloc(size: number): number {
    if (size > maxShared) return this.#newPage(size) * grainsPerPage;
    const grains = grainsOf(size);
    let address = this.#free.take(grains);
    if (address < 0) {
      const page = this.#newPage(pageBytes);
      this.#free.addPage(page, this.#pages[page]!.buffer as ArrayBuffer);
      address = this.#free.take(grains);
    }
    if (pageOf(address) === this.#spare) this.#spare = -1;
    return address;
  }

  /** `size` is the size passed to `alloc`. */
  free(address: number, size: number): void {
    const page = pageOf(address);
    if (size > maxShared) return this.#dropPage(page);
    if (this.#free.give(address, grainsOf(size)) < grainsPerPage) return;
    if (this.#spare < 0) this.#spare = page;
    else {
      this.#free.removePage(page);
      this.#dropPage(page);
    }
  }

  page(address: number): Uint8Array {
    return this.#pages[pageOf(address)]!;
  }

  /** The page as a DataView, to write numbers of several bytes. */
  view(address: number): DataView {
    return this.#views[pageOf(address)]!;
  }

  /** The offset of the piece in its page. */
  offset(address: number): number {
    return (address & (grainsPerPage - 1)) << grainBits;
  }

  /** A copy of `length` bytes. */
  read(address: number, length: number): Uint8Array {
    const at = this.offset(address);
    return this.page(address).slice(at, at + length);
  }

  /** The bytes themselves: they change with the piece, and may belong to another piece once it is freed. */
  lend(address: number, length: number): Uint8Array {
    const at = this.offset(address);
    return this.page(address).subarray(at, at + length);
  }

  /** Copies the first bytes of one piece into another. */
  copy(from: number, to: number, length: number): void {
    const at = this.offset(from);
    this.page(to).set(this.page(from).subarray(at, at + length), this.offset(to));
  }

  /** A new piece that holds `bytes`. */
  store(bytes: Uint8Array): number {
    const address = this.alloc(bytes.length);
    this.page(address).set(bytes, this.offset(address));
    return address;
  }

  #newPage(bytes: number): number {
    const page = this.#freePages.pop() ?? this.#pages.length;
    const made = new Uint8Array(bytes + slackBytes);
    this.#pages[page] = made;
    this.#views[page] = new DataView(made.buffer);
    this.bytes += bytes;
    return page;
  }

  #dropPage(page: number): void {
    this.bytes -= this.#pages[page]!.length - slackBytes;
    this.#pages[page] = undefined;
    this.#views[page] = undefined;
    this.#freePages.push(page);
  }
}

function pageOf(address: number): number {
  return address >>> (pageBits - grainBits);
}

function grainsOf(size: number): number {
  return Math.max(1, (size + grainBytes - 1) >>> grainBits);
}
