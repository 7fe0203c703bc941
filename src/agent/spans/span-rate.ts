/**
 * The limit on spans per second of a node. A few namespaces usually cause most spans, so each namespace also has a rate
 * of its own, which other namespaces cannot use. The namespaces' rates together are a quarter of the node's limit, and
 * each is at least one span a second.
 * Shape: no clock; times are monotonic ms.
 */
export class NodeSpanRate {
  readonly #perSecond: number;
  readonly #node: SpanRate;
  readonly #own = new Map<string, SpanRate>();
  #namespaces = 0;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#node = new SpanRate(perSecond, nowMs);
  }

  /**
   * True when one more span of the namespace may be taken now; it is then counted.
   * @param namespace `''` for unknown senders, which have no rate of their own.
   * @param namespaces How many namespaces have a pod on the node.
   */
  take(namespace: string, namespaces: number, nowMs: number): boolean {
    if (this.#node.take(nowMs)) return true;
    if (namespace === '') return false;
    if (namespaces !== this.#namespaces) this.#own.clear();
    this.#namespaces = namespaces;
    let own = this.#own.get(namespace);
    if (!own) {
      own = new SpanRate(Math.max(1, Math.floor(this.#perSecond / 4 / (namespaces + 1))), nowMs);
      this.#own.set(namespace, own);
    }
    return own.take(nowMs);
  }
}

/**
 * A limit on spans per second: a token bucket that holds one second's worth and refills steadily.
 * Shape: no clock; times are monotonic ms.
 */
export class SpanRate {
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#atMs = nowMs;
  }

  /** True when one more span may be taken now. */
  allows(nowMs: number): boolean {
    const gained = (Math.max(0, nowMs - this.#atMs) / 1_000) * this.#perSecond;
    this.#left = Math.min(this.#perSecond, this.#left + gained);
    this.#atMs = Math.max(this.#atMs, nowMs);
    return this.#left >= 1;
  }

  /** True when one more span may be taken now; it is then counted. */
  take(nowMs: number): boolean {
    if (!this.allows(nowMs)) return false;
    this.#left--;
    return true;
  }
}
