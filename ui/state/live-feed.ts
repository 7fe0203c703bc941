/** What the page has of a stream: the rows shown, the items held back while paused, and what was lost. */
import type { StreamMessage } from '../api/stream.ts';

/** The largest number of rows that are shown, and of items that are held back. */
export const mostRows = 500;

/** A span or flow on the page. */
export interface LiveItem {
  /** Stable as long as the page holds the item. */
  readonly id: number;
  readonly message: StreamMessage;
}

export interface Loss {
  /** The node that reports it; `svc-query` for items that the query server dropped. */
  readonly node: string;
  readonly source: string;
  readonly count: number;
}

export interface AbsentNode {
  readonly node: string;
  readonly message: string;
}

/**
 * Takes messages as they arrive. Rows change only in `show`, so that no row moves between a pointer press on a row and
 * the pause that the press starts. Bounded: the newest `mostRows` rows and held-back items are kept.
 */
export class LiveFeed {
  #rows: LiveItem[] = [];
  #held: LiveItem[] = [];
  #paused = false;
  #received = 0;
  #droppedHeld = 0;
  readonly #losses = new Map<string, Loss>();
  readonly #connected = new Set<string>();
  readonly #absent = new Map<string, string>();

  /** The newest first. */
  get rows(): readonly LiveItem[] {
    return this.#rows;
  }

  /** Number of spans and flows received. */
  get received(): number {
    return this.#received;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Number of items that wait to be shown. */
  get held(): number {
    return this.#held.length;
  }

  /** Number of items dropped in this pause, the oldest first. */
  get droppedHeld(): number {
    return this.#droppedHeld;
  }

  /** The losses by node and source, in the order of their first report. */
  get losses(): readonly Loss[] {
    return [...this.#losses.values()];
  }

  /** Number of connected nodes. */
  get connected(): number {
    return this.#connected.size;
  }

  /** Nodes that send nothing, by name, with the reason. */
  get absent(): readonly AbsentNode[] {
    return [...this.#absent].map(([node, message]) => ({ node, message })).sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  add(message: StreamMessage): void {
    const { node, lost, node_status: status } = message;
    if (lost) {
      const key = `${lost.source} ${node}`;
      const before = this.#losses.get(key)?.count ?? 0;
      this.#losses.set(key, { node, source: lost.source, count: before + lost.count });
    } else if (status) {
      for (const name of status.nodes) this.#tell(name, status);
    } else {
      this.#put({ id: this.#received++, message });
    }
  }

  /** Forgets the nodes: a new connection reports the connected ones again. */
  reconnected(): void {
    this.#connected.clear();
    this.#absent.clear();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.show();
  }

  /** Turns held-back items into rows, unless the feed is paused. */
  show(): void {
    if (this.#paused || this.#held.length === 0) return;
    this.#rows = [...this.#held.toReversed(), ...this.#rows].slice(0, mostRows);
    this.#held = [];
    this.#droppedHeld = 0;
  }

  #tell(node: string, { state, message = 'is not there', gone }: NonNullable<StreamMessage['node_status']>): void {
    this.#connected.delete(node);
    this.#absent.delete(node);
    if (state === 'NODE_CONNECTED') this.#connected.add(node);
    else if (!gone) this.#absent.set(node, message);
  }

  #put(item: LiveItem): void {
    this.#held.push(item);
    if (this.#held.length <= mostRows) return;
    this.#held.shift();
    if (this.#paused) this.#droppedHeld++;
  }
}
