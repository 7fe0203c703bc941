/** Follows the stream of spans and flows: reconnects after a break, without showing an item twice. */
import { SeenItems } from '../../src/stream/seen-items.ts';
import type { ApiFailure, FailureKind } from '../api/client.ts';
import type { ReadStreamOptions, StreamAsk, StreamMessage } from '../api/stream.ts';
import { mostRows } from './live-feed.ts';
import { unauthorizedMs } from './repeat.ts';

export type LivePhase =
  | { readonly kind: 'connecting' | 'open' }
  /** Disconnected; the next attempt is at `untilMs`. `failure` is absent if the server ended the stream. */
  | { readonly kind: 'waiting'; readonly untilMs: number; readonly failure: ApiFailure | undefined }
  /** Refused: another attempt would fail in the same way, unless the user signs in. */
  | { readonly kind: 'failed'; readonly failure: ApiFailure };

export interface FollowLiveOptions {
  readonly read: (ask: StreamAsk, options: ReadStreamOptions) => AsyncIterable<readonly StreamMessage[]>;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Resolves after the delay, when the user returns to the page, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onPhase: (phase: LivePhase) => void;
  readonly onMessages: (messages: readonly StreamMessage[]) => void;
}

const firstDelayMs = 500;
const longestDelayMs = 15_000;
const final: readonly FailureKind[] = ['forbidden', 'refused', 'too-large'];

/**
 * Follows until the signal aborts or the server refuses for good. Never rejects.
 * Guarantees: after a break it resumes ten seconds before the newest item received and skips items already received;
 * after a long break it gets the newest `mostRows` items.
 */
export async function followLive(ask: StreamAsk, options: FollowLiveOptions): Promise<void> {
  const { read, signal, now, wait, onPhase, onMessages } = options;
  const seen = new SeenItems();
  const isNew = (message: StreamMessage): boolean => !(message.span || message.flow) || seen.add(message);
  let delay = firstDelayMs;
  const onOpen = (): void => {
    delay = firstDelayMs;
    onPhase({ kind: 'open' });
  };
  let failure: ApiFailure | undefined;
  while (!signal.aborted) {
    // The invitation to sign in stays until the stream opens.
    if (failure?.kind !== 'unauthorized') onPhase({ kind: 'connecting' });
    failure = undefined;
    try {
      // The browser's clock may differ from the cluster's, so until an item has come, the request stays the same.
      const since = seen.since(now());
      const asked: StreamAsk = since === undefined ? ask : { ...ask, number: mostRows, since };
      for await (const messages of read(asked, { signal, onOpen })) {
        const fresh = messages.filter(isNew);
        if (fresh.length > 0) onMessages(fresh);
      }
    } catch (error) {
      if (signal.aborted) return;
      failure = error as ApiFailure;
    }
    if (signal.aborted) return;
    if (failure && final.includes(failure.kind)) return onPhase({ kind: 'failed', failure });
    if (failure?.kind === 'unauthorized') {
      onPhase({ kind: 'failed', failure });
      await wait(unauthorizedMs, signal);
      continue;
    }
    onPhase({ kind: 'waiting', untilMs: now() + delay, failure });
    await wait(delay, signal);
    delay = Math.min(2 * delay, longestDelayMs);
  }
}
