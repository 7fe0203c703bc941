import { FairQueues, type Held } from './fair-queues.ts';

/** A rule's sampling settings for whole traces. */
export interface TailRule {
  /** Share of ordinary traces to keep, e.g. "0.05". */
  readonly ratio: string;
  readonly keepErrors: boolean;
  readonly keepSlowerThanMs?: number;
}

/** What a decision needs to know of a span. */
export interface TailSpan {
  readonly traceId: string;
  /** The account charged for its memory while it waits; a trace is charged to the account of its first span. */
  readonly account: string;
  readonly isError: boolean;
  readonly durationNs: number;
  /** Memory that it uses while it waits. Units: bytes. */
  readonly bytes: number;
}

export interface TailLimits {
  /** Memory for waiting spans. Units: bytes. */
  readonly maxBytes: number;
  /** A trace is dropped this long after its first span. Units: ms. */
  readonly waitMs: number;
  /** Number of kept traces to remember, so that their late spans are kept too. */
  readonly maxDecided: number;
}

/**
 * The default limits. Few traces are still incomplete after `waitMs`: the instrument exports a span within about a
 * second of its end, and longer requests are rare.
 */
export const tailLimits: TailLimits = { maxBytes: 16 * 1024 * 1024, waitMs: 10_000, maxDecided: 50_000 };

interface Waiting<S> {
  readonly traceId: string;
  readonly sinceMs: number;
  readonly spans: S[];
}

/**
 * Decides which traces are kept, by their spans of this node.
 *
 * A trace is kept immediately when the ratio selects it (by its id, as the instrument's own ratio sampler does, so that
 * all nodes agree), or when one of its spans failed or was slow enough; its waiting spans are then passed on. All
 * others wait, in bounded memory, and are dropped after `waitMs`.
 * Guarantees: a span is passed on or dropped exactly once; memory stays under `maxBytes`: the oldest traces of the
 * account that is charged most go first.
 * Caveats: a trace whose first failure comes later than `waitMs` after its first span loses the spans before it, and
 * each node decides alone about its spans.
 * Shape: no clock; times are monotonic ms.
 */
export class TailSampler<S extends TailSpan> {
  readonly #limits: TailLimits;
  readonly #pass: (span: S) => void;
  readonly #drop: (spans: number, reason: 'sampled' | 'overflow') => void;
  readonly #waiting = new Map<string, Held<Waiting<S>>>();
  readonly #memory = new FairQueues<Waiting<S>>();
  readonly #kept = new Set<string>();

  constructor(
    pass: (span: S) => void,
    drop: (spans: number, reason: 'sampled' | 'overflow') => void,
    limits: TailLimits = tailLimits,
  ) {
    this.#pass = pass;
    this.#drop = drop;
    this.#limits = limits;
  }

  /** Memory of the waiting spans. Units: bytes. */
  get bytes(): number {
    return this.#memory.weight;
  }

  take(span: S, rule: TailRule, nowMs: number): void {
    const { traceId } = span;
    if (this.#kept.has(traceId) || ratioTakes(traceId, rule.ratio)) return this.#pass(span);
    const slowNs = rule.keepSlowerThanMs === undefined ? Infinity : rule.keepSlowerThanMs * 1e6;
    if ((rule.keepErrors && span.isError) || span.durationNs > slowNs) {
      this.#keep(traceId);
      return this.#pass(span);
    }
    this.#hold(span, nowMs);
  }

  /** Drops the traces that have waited long enough. */
  expire(nowMs: number): void {
    for (const waiting of this.#waiting.values()) {
      if (nowMs - waiting.item.sinceMs < this.#limits.waitMs) break;
      this.#forget(waiting, 'sampled');
    }
  }

  #keep(traceId: string): void {
    this.#kept.add(traceId);
    if (this.#kept.size > this.#limits.maxDecided) this.#kept.delete(this.#kept.values().next().value!);
    const waiting = this.#waiting.get(traceId);
    if (!waiting) return;
    this.#waiting.delete(traceId);
    this.#memory.remove(waiting);
    for (const span of waiting.item.spans) this.#pass(span);
  }

  #hold(span: S, nowMs: number): void {
    const { traceId, account, bytes } = span;
    const known = this.#waiting.get(traceId);
    if (known) {
      known.item.spans.push(span);
      this.#memory.grow(known, bytes);
    } else this.#waiting.set(traceId, this.#memory.add(account, { traceId, sinceMs: nowMs, spans: [span] }, bytes));
    while (this.#memory.weight > this.#limits.maxBytes) this.#forget(this.#memory.oldestOfHeaviest()!, 'overflow');
  }

  #forget(waiting: Held<Waiting<S>>, reason: 'sampled' | 'overflow'): void {
    this.#waiting.delete(waiting.item.traceId);
    this.#memory.remove(waiting);
    this.#drop(waiting.item.spans.length, reason);
  }
}

/**
 * Whether the last 8 bytes of the trace id, without their lowest bit, lie in the lowest share `ratio` of their range.
 * Source: TraceIdRatioBased of OpenTelemetry.
 */
export function ratioTakes(traceId: string, ratio: string): boolean {
  const share = Number(ratio);
  if (share >= 1) return true;
  if (!(share > 0) || !/^[0-9a-f]{32}$/.test(traceId)) return false;
  return BigInt(`0x${traceId.slice(16)}`) >> 1n < BigInt(Math.floor(share * 2 ** 53)) << 10n;
}
