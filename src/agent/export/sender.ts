import type { Clock } from '../../base/clock.ts';
import type { Labels } from '../../tsdb/index.ts';
import type { Post } from './post.ts';
import type { QueuedSample } from './queue/record.ts';

/** The outcome of sending items. */
export interface SendResult {
  readonly taken: number;
  /** Number of items that the receiver will never accept. */
  readonly refused: number;
  /** The receiver's message about the refused items. */
  readonly reason?: string;
  /** The smaller requests in which the other items have to be sent, in this order. */
  readonly rest?: readonly Send[];
}

/** Sends one request. Errors: any, when it has to be sent again. */
export type Send = () => Promise<SendResult>;

/** Requests that are sent one after another. */
export type Chain = readonly Send[];

/**
 * Sends the first request of each chain. `left` has the chains that are left: without what is accepted or refused, and
 * with smaller requests for what was too large.
 */
export async function sendEach(chains: readonly Chain[]): Promise<{
  readonly results: readonly SendResult[];
  readonly failed: readonly unknown[];
  readonly left: readonly Chain[];
}> {
  const outcomes = await Promise.allSettled(chains.map(([first]) => first!()));
  const results = outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []));
  const failed = outcomes.flatMap((o) => (o.status === 'rejected' ? [o.reason as unknown] : []));
  const left = outcomes.map((o, i) =>
    o.status === 'rejected' ? chains[i]! : [...(o.value.rest ?? []), ...chains[i]!.slice(1)],
  );
  return { results, failed, left: left.filter((chain) => chain.length > 0) };
}

/**
 * Sends items by the protocol of a destination, in one request. What the receiver wants in smaller requests is the
 * result's `rest`. Errors: SendLater when the same items have to be sent again.
 */
export interface Sender {
  samples(samples: readonly QueuedSample[]): Promise<SendResult>;
  spans(spans: readonly Uint8Array[]): Promise<SendResult>;
}

/** The receiver cannot accept the items now, so they wait. `afterMs` is the delay that the receiver asked for. */
export class SendLater extends Error {
  readonly afterMs: number | undefined;

  constructor(message: string, afterMs?: number) {
    super(message);
    this.name = 'SendLater';
    this.afterMs = afterMs;
  }
}

/** The sum of two results, without their `rest`. */
export function addResults(a: SendResult, b: SendResult): SendResult {
  const reason = a.reason ?? b.reason;
  return { taken: a.taken + b.taken, refused: a.refused + b.refused, ...(reason === undefined ? {} : { reason }) };
}

/** What every sender needs. */
export interface SenderOptions {
  readonly post: Post;
  readonly clock: Clock;
  /** Added to the labels of every series. */
  readonly labels: Labels;
  readonly userAgent: string;
  /** The Authorization header, or undefined without one. */
  readonly authorization: () => string | undefined;
}

/** The headers of every request of a sender. */
export function senderHeaders({ userAgent, authorization }: SenderOptions): Record<string, string> {
  const auth = authorization();
  return { 'user-agent': userAgent, ...(auth ? { authorization: auth } : {}) };
}

/** A Secret's value as an Authorization header: a bearer token, unless it names its own scheme. */
export function authorizationOf(secret: string | undefined): string | undefined {
  const text = secret?.trim();
  if (!text) return undefined;
  return /^(basic|bearer) /i.test(text) ? text : `Bearer ${text}`;
}
