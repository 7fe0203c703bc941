import type { Stats } from '../../api/page/types.ts';
import { bucketQuantile } from '../../promql/index.ts';

/**
 * The rates of some requests: the rate of each cumulative duration bucket, by its upper bound, and the rate of
 * failures. The rates of other requests can be merged into them. Units: per second.
 */
export class Requests {
  readonly #buckets = new Map<number, number>();
  #failed = 0;
  #unmeasured = 0;

  /** Adds a rate: that of the bucket with this `le`, or that of the failures if `le` is empty. */
  add(le: string, rate: number): void {
    if (le === '') this.#failed += rate;
    else {
      const bound = le === '+Inf' ? Infinity : Number(le);
      this.#buckets.set(bound, (this.#buckets.get(bound) ?? 0) + rate);
    }
  }

  /** Adds requests whose durations and failures are not known. */
  addUnmeasured(rate: number): void {
    this.#unmeasured += rate;
  }

  merge(other: Requests): void {
    for (const [bound, rate] of other.#buckets) this.#buckets.set(bound, (this.#buckets.get(bound) ?? 0) + rate);
    this.#failed += other.#failed;
    this.#unmeasured += other.#unmeasured;
  }

  /** Requests per second. */
  get rate(): number {
    return this.measured + this.#unmeasured;
  }

  /** The requests per second whose duration is known. */
  get measured(): number {
    return this.#buckets.get(Infinity) ?? 0;
  }

  get failed(): number {
    return this.#failed;
  }

  /** The quantiles of the known durations. Unit: ms; null without requests. */
  quantilesMs(...wanted: readonly number[]): (number | null)[] {
    const bounds = Float64Array.from(this.#buckets.keys()).sort();
    const counts = bounds.map((bound) => this.#buckets.get(bound)!);
    return wanted.map((q) => {
      const { value } = bucketQuantile(q, { bounds, counts: counts.slice(), length: bounds.length });
      return Number.isFinite(value) ? value * 1000 : null;
    });
  }
}

/** The bytes exchanged by two ends, or by one end with all others. Units: bytes per second. */
export interface Bytes {
  forth: number;
  back: number;
}

export function statsOf(requests: Requests | undefined, bytes: Bytes | undefined): Stats {
  const isMeasured = requests !== undefined && requests.measured > 0;
  const [p50Ms, p95Ms, p99Ms] = isMeasured ? requests.quantilesMs(0.5, 0.95, 0.99) : [];
  return {
    requestRate: requests === undefined ? null : requests.rate,
    errorShare: isMeasured ? Math.min(1, requests.failed / requests.measured) : null,
    p50Ms: p50Ms ?? null,
    p95Ms: p95Ms ?? null,
    p99Ms: p99Ms ?? null,
    bytesPerSecond: bytes === undefined ? null : bytes.forth,
    bytesBackPerSecond: bytes === undefined ? null : bytes.back,
  };
}
