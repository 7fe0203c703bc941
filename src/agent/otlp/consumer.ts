import type { MetricsRequest, TracesRequest } from './model.ts';

/** How much of a well-formed request was accepted. */
export interface Acceptance {
  /** Points or spans left out; 0 when all were accepted. */
  readonly rejected: number;
  /** Why; empty when all were accepted. */
  readonly reason: string;
  /**
   * Resolves when a kill of the process can no longer lose the accepted data, or when the sender has waited long
   * enough. Only then is the request answered. It never rejects. Absent when there is nothing to wait for.
   */
  readonly settled?: Promise<void>;
}

/** Why input was refused; the label of `svc_otlp_rejected_total`. */
export type RejectReason =
  'malformed' | 'too_large' | 'content_type' | 'encoding' | 'method' | 'invalid_point' | 'over_budget' | 'store';

/**
 * Takes the requests that the HTTP receiver or the gRPC receiver has decoded. The calls return immediately: they only
 * enqueue in memory.
 * `settled` limits how long a sender waits for the disk.
 */
export interface OtlpConsumer {
  metrics(request: MetricsRequest, bytes: number): Acceptance;
  traces(request: TracesRequest, bytes: number): Acceptance;
  /** Counts a request that could not be decoded. */
  rejected(reason: RejectReason, count: number): void;
}

/** Limits of one request. Units: bytes, as sent and after decompression. */
export const bodyLimits = { wire: 16 * 1024 * 1024, decoded: 32 * 1024 * 1024 } as const;
