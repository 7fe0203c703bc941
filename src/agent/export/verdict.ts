import type { PostAnswer } from './post.ts';

/**
 * What an answer means for the data that was sent.
 * `taken`: accepted. `refused`: the receiver will never accept this data. `smaller`: it may accept less at a time.
 * `unsupported`: it does not know this version of the protocol. `again`: retry later, the data is not the cause.
 */
export type Verdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'smaller' }
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'again'; readonly reason: string; readonly afterMs?: number };

/** Longest delay that a receiver may ask for. Units: ms. */
const longestWaitMs = 10 * 60_000;

/**
 * Answers of 4xx that speak of the destination, of rights or of the moment: the same data may be accepted later. Any
 * other 4xx is taken for a refusal of the data, such as the 409 of Thanos for samples out of order; Prometheus does not
 * send it again either.
 */
const laterStatuses: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 408, 410, 421, 425, 429, 431, 451]);

/**
 * Reads an answer. Redirects, missing permissions and wrong paths are faults of the destination: data waits until an
 * administrator fixes them, for as long as the queue holds it.
 */
export function verdictOf({ status, headers, body }: PostAnswer, nowMs: number): Verdict {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  const words = body.toString('utf8', 0, 300).replaceAll(/\s+/g, ' ').trim();
  const reason = `HTTP ${status}${words && `: ${words}`}`;
  if (status === 413) return { kind: 'smaller' };
  if (status === 415) return { kind: 'unsupported' };
  if (status >= 400 && status < 500 && !laterStatuses.has(status)) return { kind: 'refused', reason };
  const afterMs = retryAfterMs(headers['retry-after'], nowMs);
  return { kind: 'again', reason, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** `Retry-After`: seconds or an HTTP date, as a wait. Units: ms. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestWaitMs);
}
