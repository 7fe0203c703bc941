import type { XorPlace } from '../chunk/index.ts';
import type { Chunk, ChunkEncoding } from '../types.ts';
import { grown } from './grown.ts';
import type { Slab } from './slab.ts';

/** Marks the end of a list. */
export const noChunk = -1;

/** The head's finished chunks as columns. Each series has a list of them in time order, linked by `next`. */
export class ChunkTable {
  readonly #slab: Slab;
  #size = 0;
  #free: number[] = [];
  minT = new Float64Array(1024);
  maxT = new Float64Array(1024);
  next = new Int32Array(1024);
  #count = new Uint16Array(1024);
  #length = new Uint32Array(1024);
  #address = new Uint32Array(1024);
  #encoding = new Uint8Array(1024);

  constructor(slab: Slab) {
    this.#slab = slab;
  }

  /** Adds a chunk; it is in no list yet. */
  add(chunk: Chunk): number {
    return this.adopt(chunk, this.#slab.store(chunk.bytes), chunk.bytes.length);
  }

  /** Like `add`, for bytes that are already in the slab. */
  adopt(chunk: Omit<Chunk, 'bytes'>, address: number, length: number): number {
    const id = this.#free.pop() ?? this.#size++;
    if (id >= this.next.length) this.#grow(this.next.length * 2);
    this.minT[id] = chunk.minT;
    this.maxT[id] = chunk.maxT;
    this.#count[id] = chunk.count;
    this.#length[id] = length;
    this.#address[id] = address;
    this.#encoding[id] = chunk.encoding;
    this.next[id] = noChunk;
    return id;
  }

  /** A copy of the chunk. */
  get(id: number): Chunk {
    return this.#chunk(id, this.#slab.read(this.#address[id]!, this.#length[id]!));
  }

  /** The chunk, whose bytes are the head's own: they never change, and stay valid until the chunk is released. */
  lend(id: number): Chunk {
    return this.#chunk(id, this.#slab.lend(this.#address[id]!, this.#length[id]!));
  }

  #chunk(id: number, bytes: Uint8Array): Chunk {
    return {
      encoding: this.#encoding[id] as ChunkEncoding,
      minT: this.minT[id]!,
      maxT: this.maxT[id]!,
      count: this.#count[id]!,
      bytes,
    };
  }

  count(id: number): number {
    return this.#count[id]!;
  }

  isFloats(id: number): boolean {
    return this.#encoding[id] === 1;
  }

  /** Where the bits of a chunk of floats lie, for decoding them in place. */
  place(id: number): XorPlace {
    const address = this.#address[id]!;
    const slab = this.#slab;
    const bits = this.#length[id]! * 8;
    return {
      page: slab.page(address),
      view: slab.view(address),
      at: slab.offset(address),
      bits,
      count: this.#count[id]!,
    };
  }

  /** Frees the chunk's number and bytes for reuse. To be called only when no reader can hold its number. */
  release(id: number): void {
    this.#slab.free(this.#address[id]!, this.#length[id]!);
    this.#free.push(id);
  }

  #grow(capacity: number): void {
    this.minT = grown(this.minT, capacity);
    this.maxT = grown(this.maxT, capacity);
    this.next = grown(this.next, capacity);
    this.#count = grown(this.#count, capacity);
    this.#length = grown(this.#length, capacity);
    this.#address = grown(this.#address, capacity);
    this.#encoding = grown(this.#encoding, capacity);
  }
}
