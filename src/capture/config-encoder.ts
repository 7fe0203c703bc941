import { createHash, type Hash } from 'node:crypto';
import { canonicalJson } from '../base/canonical-json.ts';
import type { CaptureConfig } from './capture-config.ts';

/** What differs between the nodes of one group. */
type Own = Pick<CaptureConfig, 'monitors' | 'node'>;

/**
 * Canonical JSON and hashes of many configs that have all but `monitors` and `node` in common.
 * Guarantees: the same bytes as `canonicalJson` and the same hash as `captureHash` of the whole config; the shared
 * part, by far the largest, is written and hashed once. 1,000 nodes with 450 kB each take milliseconds.
 */
export class ConfigEncoder {
  readonly #shared: Omit<CaptureConfig, keyof Own>;
  readonly #head: string;
  readonly #tail: string;
  readonly #hash: Hash;

  constructor(shared: Omit<CaptureConfig, keyof Own>) {
    this.#shared = shared;
    // Members are sorted by name; `monitors` and `node` are neighbours in that order.
    const members = Object.entries(shared);
    const before = members.filter(([name]) => name < 'monitors');
    const after = members.filter(([name]) => name > 'node');
    this.#head = `${canonicalJson(Object.fromEntries(before)).slice(0, -1)},"monitors":`;
    this.#tail = `,${canonicalJson(Object.fromEntries(after)).slice(1)}`;
    this.#hash = createHash('sha256').update(this.#head);
  }

  encode(own: Own): { config: CaptureConfig; hash: string; json: () => string } {
    const middle = `${canonicalJson(own.monitors)},"node":${canonicalJson(own.node)}`;
    const hex = this.#hash.copy().update(middle).update(this.#tail).digest('hex');
    return {
      config: { ...this.#shared, ...own },
      hash: `sha256:${hex}`,
      json: () => this.#head + middle + this.#tail,
    };
  }
}
