import { networkOf } from './peer-address.ts';

/** One connection as the listener counts it. */
export interface Place {
  readonly address: string;
  /** Requests in flight. */
  busy: number;
  /** Whether every request in flight is still arriving. If so, closing the connection loses no answer of ours. */
  readonly arriving: () => boolean;
  readonly close: () => void;
}

/**
 * The connections of one listener, in total and per address.
 *
 * Guarantees: at a limit, the connection that has been idle for longest is closed for a new one. When none is idle, the
 * connection whose request has been arriving for longest is closed. At the limit of an address, only connections of
 * that address are closed; at the total limit, those of the network with the most connections come first, and in it
 * those of the address with the most. So a caller that holds many connections open loses its own, also when it has many
 * addresses of IPv6, and a caller with few keeps them.
 */
export class Places {
  readonly #total: number;
  readonly #perAddress: number;
  /** The connections of each address, in the order in which they arrived, or last became idle or busy. */
  readonly #byAddress = new Map<string, Set<Place>>();
  #count = 0;
  #busy = 0;

  constructor(limits: { readonly connections: number; readonly connectionsPerAddress: number }) {
    this.#total = limits.connections;
    this.#perAddress = limits.connectionsPerAddress;
  }

  get count(): number {
    return this.#count;
  }

  /** Requests in flight on all connections. */
  get busy(): number {
    return this.#busy;
  }

  all(): Place[] {
    return [...this.#byAddress.values()].flatMap((places) => [...places]);
  }

  /** Result: `entered` is false when every connection that could be closed has a request that is being answered. */
  enter(place: Place): { entered: boolean; evicted: boolean } {
    const own = this.#byAddress.get(place.address);
    const full = own !== undefined && own.size >= this.#perAddress;
    const crowded = this.#count >= this.#total;
    const evicted = full ? this.#evict([own]) : crowded && this.#evict(this.#largestFirst());
    if ((full || crowded) && !evicted) return { entered: false, evicted: false };
    const places = this.#byAddress.get(place.address) ?? new Set();
    this.#byAddress.set(place.address, places.add(place));
    this.#count++;
    return { entered: true, evicted };
  }

  leave(place: Place): void {
    const places = this.#byAddress.get(place.address);
    if (!places?.delete(place)) return;
    this.#count--;
    this.#busy -= place.busy;
    place.busy = 0;
    if (places.size === 0) this.#byAddress.delete(place.address);
  }

  begin(place: Place): void {
    if (!this.#has(place)) return;
    place.busy++;
    this.#busy++;
    if (place.busy === 1) this.#toEnd(place);
  }

  end(place: Place): void {
    if (!this.#has(place) || place.busy === 0) return;
    place.busy--;
    this.#busy--;
    if (place.busy === 0) this.#toEnd(place);
  }

  /**
   * Closes a connection whose request is still arriving: of the addresses in the same order, and of the connections of
   * an address the one whose request has been arriving for longest. False when no request is arriving.
   */
  evictArriving(): boolean {
    return this.#evict(this.#largestFirst(), false);
  }

  #toEnd(place: Place): void {
    const places = this.#byAddress.get(place.address)!;
    places.delete(place);
    places.add(place);
  }

  #has(place: Place): boolean {
    return this.#byAddress.get(place.address)?.has(place) ?? false;
  }

  #largestFirst(): Set<Place>[] {
    const inNetwork = new Map<string, number>();
    const groups = [...this.#byAddress].map(([address, places]) => {
      const network = networkOf(address);
      inNetwork.set(network, (inNetwork.get(network) ?? 0) + places.size);
      return { network, places };
    });
    const sizeOf = ({ network }: { network: string }): number => inNetwork.get(network)!;
    return groups.sort((a, b) => sizeOf(b) - sizeOf(a) || b.places.size - a.places.size).map(({ places }) => places);
  }

  #evict(groups: readonly Set<Place>[], alsoIdle = true): boolean {
    const idle = (place: Place): boolean => place.busy === 0;
    const arriving = (place: Place): boolean => place.busy > 0 && place.arriving();
    for (const wanted of alsoIdle ? [idle, arriving] : [arriving]) {
      for (const group of groups) {
        for (const place of group) {
          if (!wanted(place)) continue;
          this.leave(place);
          place.close();
          return true;
        }
      }
    }
    return false;
  }
}
