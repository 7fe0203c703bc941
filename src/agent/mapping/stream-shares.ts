import { changeCount } from '../../base/collections/counts.ts';

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

  /** The limit that one more stream of the account would exceed; null for none. `''` stands for unknown senders. */
  exceeded(account: string, bounds: StreamBounds): 'node' | 'namespace' | null {
    const count = this.#counts.get(account) ?? 0;
    if (count >= bounds.namespace) return 'namespace';
    if (this.#total < bounds.node || (account !== '' && count < bounds.own)) return null;
    return 'node';
  }

  add(account: string): void {
    changeCount(this.#counts, account, 1);
    this.#total++;
  }

  remove(account: string): void {
    changeCount(this.#counts, account, -1);
    this.#total--;
  }
}
