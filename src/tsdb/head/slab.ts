import { slackBytes } from '../chunk/index.ts';

const pageBits = 18;
const pageBytes = 1 << pageBits;
/** Pieces are aligned to this. */
const grainBits = 5;
const grainsPerPage = 1 << (pageBits - grainBits);
/** Larger pieces get a page of their own. */
const maxShared = 32_768;

/**
 * Allocates small pieces of bytes in large pages: an array object for each chunk would cost as much as the chunk.
 * Shape: an address is page × 2^13 + offset / 32, which fits a word up to 128 GiB. Sizes are rounded up to classes; a
 * freed piece is reused by the next one of its class. Chunks may be decoded in place.
 */
export class Slab {
  #pages: (Uint8Array | undefined)[] = [];
  #views: (DataView | undefined)[] = [];
  #freePages: number[] = [];
  /** The page that pieces are allocated in, and the offset of its free part. */
  #current = -1;
  #used = pageBytes;
  #free: number[][] = [];
  bytes = 0;

  /** The allocated bytes of a piece of `size`. */
  capacity(size: number): number {
    return size <= maxShared ? classBytes(classOf(size)) : size;
  }

  alloc(size: number): number {
    if (size > maxShared) return this.#newPage(size) * grainsPerPage;
    const kind = classOf(size);
    const again = this.#free[kind]?.pop();
    if (again !== undefined) return again;
    const bytes = classBytes(kind);
    if (this.#used + bytes > pageBytes) {
      // The rest of the old page is wasted: less than a chunk in a quarter of a megabyte.
      this.#current = this.#newPage(pageBytes);
      this.#used = 0;
    }
    const address = this.#current * grainsPerPage + (this.#used >>> grainBits);
    this.#used += bytes;
    return address;
  }

  /** `size` is the size passed to `alloc`. */
  free(address: number, size: number): void {
    if (size <= maxShared) return void (this.#free[classOf(size)] ??= []).push(address);
    const page = pageOf(address);
    this.bytes -= this.#pages[page]!.length - slackBytes;
    this.#pages[page] = undefined;
    this.#views[page] = undefined;
    this.#freePages.push(page);
  }

  page(address: number): Uint8Array {
    return this.#pages[pageOf(address)]!;
  }

  /** The page as a DataView, for wide stores. */
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
}

function pageOf(address: number): number {
  return address >>> (pageBits - grainBits);
}

/** Steps of 32 bytes up to 1 KiB, then of an eighth of the size. */
function classOf(size: number): number {
  if (size <= 1024) return Math.max(1, (size + 31) >>> 5);
  const power = 32 - Math.clz32(size - 1);
  const step = 1 << (power - 4);
  return 32 + (power - 11) * 8 + (Math.ceil(size / step) - 8);
}

function classBytes(kind: number): number {
  if (kind <= 32) return kind << 5;
  const power = 11 + Math.floor((kind - 33) / 8);
  return (8 + ((kind - 33) % 8) + 1) << (power - 4);
}
