import type { AnyValue, Attribute, KeyValueList } from '../model.ts';
import { BoundsCache } from './bounds-cache.ts';

/** Longer lists are not cached, but decoded each time. Unit: bytes. */
const longestKept = 16 * 1024;
/** Rough memory of an entry, and of an attribute or a nested value, without their texts. Bytes. */
const entryBytes = 256;
const valueBytes = 64;

interface Entry {
  readonly bytes: Uint8Array;
  readonly attributes: readonly Attribute[];
  /** Memory of the entry and of its list. Unit: bytes. */
  readonly weight: number;
  /** Another entry of the same hash. */
  readonly next: Entry | undefined;
}

/**
 * Caches attribute lists by their encoded bytes. An instrument sends the same lists interval after interval. A lookup
 * here costs a hash and a comparison, a tenth of decoding, and all owners of a list share one object.
 * Holds at most two generations of lists. A generation has at most about `generation` lists and `generationBytes`. A
 * list stays while it is used once in every generation that is added.
 */
export class AttributeCache {
  /** Bounds of histograms, which repeat too. */
  readonly bounds = new BoundsCache();
  readonly #generation: number;
  readonly #generationBytes: number;
  #young = new Map<number, Entry>();
  #old = new Map<number, Entry>();
  #count = 0;
  #weight = 0;

  constructor(generation = 65_536, generationBytes = 32 * 1024 * 1024) {
    this.#generation = generation;
    this.#generationBytes = generationBytes;
  }

  /** The list whose encoding is `bytes[start, end)`, if it is known. */
  find(bytes: Uint8Array, start: number, end: number): readonly Attribute[] | undefined {
    if (end - start > longestKept) return undefined;
    const hash = hashOf(bytes, start, end);
    const young = find(this.#young.get(hash), bytes, start, end);
    if (young) return young.attributes;
    const old = find(this.#old.get(hash), bytes, start, end);
    if (old) this.#keep(hash, old.bytes, old.attributes, old.weight);
    return old?.attributes;
  }

  /** Adds a list that is not known yet, unless it is too long. */
  add(bytes: Uint8Array, start: number, end: number, attributes: readonly Attribute[]): void {
    const length = end - start;
    if (length > longestKept) return;
    // The bytes are copied, since a slice is only a view: a list must not keep the whole request that it came with.
    const kept = Buffer.from(bytes.subarray(start, end));
    // The texts of the list are about as long as its encoding.
    const weight = entryBytes + 2 * length + valueBytes * valuesIn(attributes);
    this.#keep(hashOf(bytes, start, end), kept, attributes, weight);
  }

  #keep(hash: number, bytes: Uint8Array, attributes: readonly Attribute[], weight: number): void {
    if (this.#count >= this.#generation || this.#weight >= this.#generationBytes) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#count = 0;
      this.#weight = 0;
    }
    this.#count++;
    this.#weight += weight;
    const next = this.#young.get(hash);
    if (lengthOf(next) < maxChain) this.#young.set(hash, { bytes, attributes, weight, next });
  }
}

/** Counts attributes and nested values: an empty one has two bytes in the encoding, and many more in memory. */
function valuesIn(attributes: readonly Attribute[]): number {
  let count = 0;
  for (const { value } of attributes) count += valuesOf(value);
  return count;
}

function valuesOf(value: AnyValue): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 1;
  if (!isArray(value)) return 1 + valuesIn(value.entries);
  let count = 1;
  for (const nested of value) count += valuesOf(nested);
  return count;
}

const isArray = (value: readonly AnyValue[] | KeyValueList): value is readonly AnyValue[] => Array.isArray(value);

function find(entry: Entry | undefined, bytes: Uint8Array, start: number, end: number): Entry | undefined {
  for (let e = entry; e; e = e.next) if (equal(e.bytes, bytes, start, end)) return e;
  return undefined;
}

/** Lists held per hash; further ones are decoded each time, so that deliberate collisions cannot make chains long. */
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

/** Takes four bytes per step, then the rest. Multiplying and folding spreads each bit to those above and below. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  let i = start;
  for (; i + 4 <= end; i += 4) {
    const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash ^ (hash >>> 16);
}
