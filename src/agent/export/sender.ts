import type { QueuedSample } from './queue/record.ts';

/** What became of items that were sent. */
export interface SendResult {
  readonly taken: number;
  /** Items that the receiver will never take. */
  readonly refused: number;
  /** The receiver's words for the refused ones. */
  readonly reason?: string;
}

/** Speaks a destination's protocol. Errors: SendLater when the same items have to be sent again. */
export interface Sender {
  samples(samples: readonly QueuedSample[]): Promise<SendResult>;
  spans(spans: readonly Uint8Array[]): Promise<SendResult>;
}

/** The items wait: the receiver cannot take them now. `afterMs` is its own wish. */
export class SendLater extends Error {
  readonly afterMs: number | undefined;

  constructor(message: string, afterMs?: number) {
    super(message);
    this.name = 'SendLater';
    this.afterMs = afterMs;
  }
}

export function addResults(a: SendResult, b: SendResult): SendResult {
  const reason = a.reason ?? b.reason;
  return { taken: a.taken + b.taken, refused: a.refused + b.refused, ...(reason === undefined ? {} : { reason }) };
}
