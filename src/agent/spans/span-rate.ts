/**
 * A ceiling on spans per second: a bucket that holds one second's worth and fills steadily.
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

  /** True when one more span may be taken now; it is then counted. */
  take(nowMs: number): boolean {
    const gained = (Math.max(0, nowMs - this.#atMs) / 1_000) * this.#perSecond;
    this.#left = Math.min(this.#perSecond, this.#left + gained);
    this.#atMs = Math.max(this.#atMs, nowMs);
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
