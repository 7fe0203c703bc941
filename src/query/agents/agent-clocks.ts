import type { Clock } from '../../base/clock.ts';

/** Resolution of an HTTP date: one second. Unit: ms. */
const resolutionMs = 1_000;

/**
 * The offsets of the agents' clocks from ours, from the `Date` of their answers.
 * Guarantees: an offset is the smallest that explains the newest answer; it is 0 when the agent's clock may agree with
 * ours.
 */
export class AgentClocks {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #offsets = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Begins to time one answer; call the returned function with the answer's `Date`. */
  ask(node: string): (date: string | undefined) => void {
    const askedMs = this.#clock.now();
    return (date) => {
      const saidMs = Date.parse(date ?? '');
      if (Number.isNaN(saidMs)) return;
      const [least, most] = [saidMs - this.#clock.now(), saidMs + resolutionMs - askedMs];
      this.#offsets.set(node, least > 0 ? least : Math.min(0, most));
    };
  }

  /** Positive: the agent's clock is ahead. null before its first answer. Unit: ms. */
  offsetMs(node: string): number | null {
    return this.#offsets.get(node) ?? null;
  }
}
