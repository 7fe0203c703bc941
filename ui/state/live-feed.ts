/** What came of a stream: the rows that are shown, what is held back while they stand still, and what was lost. */
import type { StreamMessage } from '../api/stream.ts';

/** Most rows that are shown, and most items that are held back. */
export const mostRows = 500;

/** A span or flow on the page. */
export interface LiveItem {
  /** The same as long as the page has it. */
  readonly id: number;
  readonly message: StreamMessage;
}

export interface Loss {
  /** The node that says so; `svc-query` of what it dropped itself. */
  readonly node: string;
  readonly source: string;
  readonly count: number;
}

export interface AbsentNode {
  readonly node: string;
  readonly message: string;
}

/**
 * Takes messages as they come. Rows change in `show` alone, so that nothing moves between the moment that a pointer goes
 * down on one and the pause that this begins. Bounded: of rows, and of what waits, the newest `mostRows` are kept.
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

  /** Spans and flows that came so far. */
  get received(): number {
    return this.#received;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Items that wait to be shown. */
  get held(): number {
    return this.#held.length;
  }

  /** Items for which there was no room in this pause: the oldest of them. */
  get droppedHeld(): number {
    return this.#droppedHeld;
  }

  /** What never came, by node and reason, in the order of its first message. */
  get losses(): readonly Loss[] {
    return [...this.#losses.values()];
  }

  /** Nodes that are followed. */
  get connected(): number {
    return this.#connected.size;
  }

  /** Nodes that send nothing, and why, by name. */
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
      for (const name of status.nodes) this.#tell(name, status.state, status.message);
    } else {
      this.#put({ id: this.#received++, message });
    }
  }

  /** A connection was made anew: which nodes are there is told again. */
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

  /** Makes rows of what waits, unless it is paused. */
  show(): void {
    if (this.#paused || this.#held.length === 0) return;
    this.#rows = [...this.#held.toReversed(), ...this.#rows].slice(0, mostRows);
    this.#held = [];
    this.#droppedHeld = 0;
  }

  #tell(node: string, state: string, message = 'is not there'): void {
    if (state === 'NODE_CONNECTED') {
      this.#connected.add(node);
      this.#absent.delete(node);
    } else {
      this.#connected.delete(node);
      this.#absent.set(node, message);
    }
  }

  #put(item: LiveItem): void {
    this.#held.push(item);
    if (this.#held.length <= mostRows) return;
    this.#held.shift();
    if (this.#paused) this.#droppedHeld++;
  }
}
