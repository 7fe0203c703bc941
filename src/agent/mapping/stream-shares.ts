import { changeCount } from '../../base/collections/counts.ts';
import type { Attribute } from '../otlp/model.ts';
import { memoryOf, valueText } from './label-set.ts';

/** How many streams of metric points an agent may remember. */
export interface StreamBounds {
  /** Streams of the node, from all senders. */
  readonly node: number;
  /** Streams of one account. A namespace has two accounts: one for its flows, one for all else. */
  readonly namespace: number;
  /** Streams that each account may have even when the node's limit is used up. */
  readonly own: number;
}

/**
 * Counts the streams that are remembered, by the account of their sender. A stream beyond a limit of series is
 * remembered too, whether its series are merged into the overflow series or dropped. Without `StreamBounds`, a sender
 * that creates ever more streams would leave no room for those of others.
 */
export class StreamShares {
  readonly #counts = new Map<string, number>();
  #total = 0;

  /**
   * The limit that one more stream of the account, of this weight, would exceed; null for none. `''` stands for unknown
   * senders.
   */
  exceeded(account: string, weight: number, bounds: StreamBounds): 'node' | 'namespace' | null {
    const count = (this.#counts.get(account) ?? 0) + weight;
    if (count > bounds.namespace) return 'namespace';
    if (this.#total + weight <= bounds.node || (account !== '' && count <= bounds.own)) return null;
    return 'node';
  }

  add(account: string, weight: number): void {
    changeCount(this.#counts, account, weight);
    this.#total += weight;
  }

  remove(account: string, weight: number): void {
    this.add(account, -weight);
  }
}

/**
 * What attributes take in memory up to this is part of every stream. Those of the instrument take 4 KiB where names are
 * short. Units: bytes.
 */
const includedBytes = 6 * 1024;
/** As much beyond it counts as one more stream. Units: bytes. */
const bytesPerStream = 1024;
const sizes = new WeakMap<readonly Attribute[], number>();

/** The number of streams that a stream with these attributes counts for: it keeps them, however long they are. */
export function streamWeight(resource: readonly Attribute[], point: readonly Attribute[]): number {
  const beyond = sizeOf(resource) + sizeOf(point) - includedBytes;
  return 1 + Math.ceil(Math.max(0, beyond) / bytesPerStream);
}

function sizeOf(attributes: readonly Attribute[]): number {
  let size = sizes.get(attributes);
  if (size === undefined) {
    size = memoryOf(attributes);
    // The texts of lists, maps and bytes are kept beside these.
    for (const { value } of attributes) if (typeof value === 'object') size += memoryOf(valueText(value));
    sizes.set(attributes, size);
  }
  return size;
}
