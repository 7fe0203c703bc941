import type { MetricsRequest, TracesRequest } from './model.ts';

/** What was taken of a request that decoded well. */
export interface Acceptance {
  /** Points or spans left out; 0 when all were taken. */
  readonly rejected: number;
  /** Why; empty when all were taken. */
  readonly reason: string;
  /**
   * Resolves when a kill of the process can no longer lose what was taken, or when the sender has waited long enough;
   * it never rejects. The answer is sent then. Absent: there is nothing to wait for.
   */
  readonly settled?: Promise<void>;
}

/** Why input was refused; the label of `svc_otlp_rejected_total`. */
export type RejectReason =
  'malformed' | 'too_large' | 'content_type' | 'encoding' | 'method' | 'invalid_point' | 'over_budget' | 'store';

/**
 * Where both receivers put what they decoded. The calls return at once: taking in is an enqueue in memory. How long a
 * sender waits for the disk is bounded by `settled`.
 */
export interface OtlpConsumer {
  metrics(request: MetricsRequest, bytes: number): Acceptance;
  traces(request: TracesRequest, bytes: number): Acceptance;
  /** Counts a request that never became a model. */
  rejected(reason: RejectReason, count: number): void;
}

/** Bounds of one request. Units: bytes, as sent and after decompression. */
export const bodyLimits = { wire: 16 * 1024 * 1024, decoded: 32 * 1024 * 1024 } as const;
