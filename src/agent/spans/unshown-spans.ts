import type { ResourceSpans } from '../otlp/model.ts';
import { memoryOf } from '../mapping/label-set.ts';
import { FairQueues, type Held } from './fair-queues.ts';

export interface UnshownLimits {
  /** Memory for waiting spans. Units: bytes. */
  readonly maxBytes: number;
  /** Spans whose sender no metric point proves within this time are treated as from an unknown sender. Units: ms. */
  readonly waitMs: number;
}

/**
 * A process's first metric points arrive at most one interval of the instrument after its first spans: 10 s by default.
 * The wait covers intervals of up to a minute.
 */
export const unshownLimits: UnshownLimits = { maxBytes: 8 * 1024 * 1024, waitMs: 70_000 };

interface Waiting {
  readonly spans: ResourceSpans;
  readonly sinceMs: number;
}

/**
 * Spans that wait until a metric point proves who sent them, in the order of arrival.
 * Guarantees: every span is passed on exactly once; memory stays under `maxBytes`: the oldest spans of the namespace
 * that holds the most memory are passed on early.
 * Shape: no clock; times are monotonic ms.
 */
export class UnshownSpans {
  readonly #limits: UnshownLimits;
  readonly #pass: (spans: ResourceSpans) => void;
  readonly #memory = new FairQueues<Waiting>();
  #waiting = new Set<Held<Waiting>>();

  constructor(pass: (spans: ResourceSpans) => void, limits = unshownLimits) {
    this.#pass = pass;
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#memory.weight;
  }

  /** Lets spans wait, and charges their memory to `account`, the namespace that they name. */
  hold(account: string, spans: ResourceSpans, nowMs: number): void {
    this.#waiting.add(this.#memory.add(account, { spans, sinceMs: nowMs }, bytesOf(spans)));
    while (this.#memory.weight > this.#limits.maxBytes) this.#release(this.#memory.oldestOfHeaviest()!);
  }

  /** Passes on spans whose sender is decided by now, and those that have waited long enough. */
  settle(isDecided: (spans: ResourceSpans) => boolean, nowMs: number): void {
    for (const held of this.#waiting) {
      const { spans, sinceMs } = held.item;
      if (nowMs - sinceMs >= this.#limits.waitMs || isDecided(spans)) this.#release(held);
    }
  }

  #release(held: Held<Waiting>): void {
    this.#waiting.delete(held);
    this.#memory.remove(held);
    this.#pass(held.item.spans);
  }
}

/** Approximate memory of decoded spans. */
function bytesOf({ attributes, scopes }: ResourceSpans): number {
  const spans = scopes.flatMap((scope) => scope.spans);
  const sizes = [...attributes, ...spans.flatMap((span) => span.attributes)].map(
    ({ key, value }) => 80 + key.length + memoryOf(value),
  );
  for (const { name, statusMessage } of spans) sizes.push(500 + name.length + statusMessage.length);
  return sizes.reduce((sum, size) => sum + size, 200);
}
