import type { AgentStatus } from '../../capture/index.ts';
import type { Destination } from './destination.ts';

interface Unopened {
  readonly destination: Destination;
  readonly error: string;
  /** When the queue first could not be opened for this reason. Units: monotonic ms. */
  readonly sinceMs: number;
}

/** The destinations whose queues could not be opened, by id, with the reasons. */
export class UnopenedQueues {
  readonly #byId = new Map<string, Unopened>();

  get size(): number {
    return this.#byId.size;
  }

  get destinations(): readonly Destination[] {
    return [...this.#byId.values()].map(({ destination }) => destination);
  }

  /** Notes that the queue of a destination could not be opened. The result says whether the reason is a new one. */
  add(destination: Destination, error: string, nowMs: number): boolean {
    const before = this.#byId.get(destination.id);
    const isNew = before?.error !== error;
    this.#byId.set(destination.id, { destination, error, sinceMs: isNew ? nowMs : before.sinceMs });
    return isNew;
  }

  delete(id: string): void {
    this.#byId.delete(id);
  }

  /** For how long the queue could not be opened for this reason; 0 if the newest reason was another one. Units: ms. */
  failingMs(id: string, error: string, nowMs: number): number {
    const before = this.#byId.get(id);
    return before?.error === error ? nowMs - before.sinceMs : 0;
  }

  /** One status row per destination. */
  statuses(): NonNullable<AgentStatus['exports']> {
    return [...this.#byId.values()].map(({ destination: { owner, name }, error }) => {
      const message = `queue: ${error}`;
      return { owner, name, state: 'Failing' as const, message, pendingBytes: 0, sent: 0, refused: 0 };
    });
  }
}
