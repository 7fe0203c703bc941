import type { Attribute } from '../model.ts';

interface Entry {
  readonly bytes: Uint8Array;
  readonly attributes: readonly Attribute[];
  /** Another entry of the same hash. */
  readonly next: Entry | undefined;
}

/**
 * Attribute lists by their encoded bytes. An instrument sends the same lists interval after interval; to find one
 * here costs a hash and a comparison, a tenth of decoding it, and all its owners share one list in memory.
 * Holds at most about twice `generation` lists; those not asked for through one generation are let go.
 */
export class AttributeCache {
  readonly #generation: number;
  #young = new Map<number, Entry>();
  #old = new Map<number, Entry>();
  #count = 0;

  constructor(generation = 65_536) {
    this.#generation = generation;
  }

  /** The list whose encoding is `bytes[start, end)`, decoded by `decode` when it is not known. */
  get(bytes: Uint8Array, start: number, end: number, decode: () => readonly Attribute[]): readonly Attribute[] {
    const hash = hashOf(bytes, start, end);
    const known = find(this.#young.get(hash), bytes, start, end);
    if (known) return known.attributes;
    const old = find(this.#old.get(hash), bytes, start, end);
    const attributes = old ? old.attributes : decode();
    if (this.#count >= this.#generation) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#count = 0;
    }
    this.#count++;
    const next = this.#young.get(hash);
    if (lengthOf(next) < maxChain) {
      this.#young.set(hash, { bytes: old ? old.bytes : bytes.slice(start, end), attributes, next });
    }
    return attributes;
  }
}

function find(entry: Entry | undefined, bytes: Uint8Array, start: number, end: number): Entry | undefined {
  for (let e = entry; e; e = e.next) if (equal(e.bytes, bytes, start, end)) return e;
  return undefined;
}

/** Lists of one hash that are held; more are decoded each time, so that chosen collisions cannot make chains long. */
const maxChain = 4;

function lengthOf(entry: Entry | undefined): number {
  let length = 0;
  for (let e = entry; e; e = e.next) length++;
  return length;
}

function equal(held: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (held.length !== end - start) return false;
  for (let i = 0; i < held.length; i++) if (held[i] !== bytes[start + i]) return false;
  return true;
}

/** FNV-1a over the bytes. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash;
}
