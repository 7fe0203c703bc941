import type { Clock } from '../../base/clock.ts';
import type { ExpectedAgent } from './directory.ts';

/** Longer than any window that is asked about. */
const rememberMs = 3_600_000;

/**
 * Nodes that had an agent and need none any more: they left the cluster, or the DaemonSet left them. Nobody misses their
 * answers, but a rate over the last minutes lacks what they measured in them.
 */
export class DepartedNodes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #serving = new Set<string>();
  readonly #left = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Takes note of who is expected now. One that comes back has not left. */
  note(agents: readonly ExpectedAgent[]): void {
    const now = this.#clock.monotonic();
    const expected = new Set(agents.map(({ node }) => node));
    for (const node of this.#serving) if (!expected.has(node)) this.#left.set(node, now);
    for (const [node, at] of this.#left) if (expected.has(node) || now - at > rememberMs) this.#left.delete(node);
    this.#serving = new Set(
      agents.filter(({ node, address }) => address !== undefined || this.#serving.has(node)).map(({ node }) => node),
    );
  }

  /** Sorted names of the nodes that left in the last so many milliseconds. */
  within(ms: number): string[] {
    const since = this.#clock.monotonic() - ms;
    return [...this.#left].flatMap(([node, at]) => (at >= since ? [node] : [])).sort();
  }
}
