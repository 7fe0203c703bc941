import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { Logger } from '../../base/logger.ts';
import {
  type FilterContext,
  itemMessage,
  lostMessage,
  statusMessage,
  type StreamMessage,
  type StreamQuery,
} from '../../stream/index.ts';
import { readStream, startOf, type StreamEvent } from '../spans/stream-reader.ts';
import type { StreamRing } from '../spans/stream-ring.ts';

export interface StreamOptions extends FilterContext {
  readonly ring: StreamRing;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Notified of readers that connect and disconnect, and of items that a reader was too slow for. */
  readonly onClients: (change: 1 | -1) => void;
  readonly onLost: (count: number) => void;
  /** Aborts when the agent ends: followers get a last message and are closed. */
  readonly signal: AbortSignal;
}

/** The receiver of messages. `write` resolves when the reader can take more. */
export interface StreamSink {
  readonly write: (messages: readonly StreamMessage[]) => Promise<void>;
  /** Aborts when the reader has disconnected. */
  readonly gone: AbortSignal;
}

/**
 * Serves one reader until the query is answered, or until the reader or the agent ends.
 * Guarantees: it holds at most one batch beyond what the connection buffers, so a slow reader costs no more memory than
 * that and does not slow the writer of the ring (the agent's memory of recent spans and flows). A follower, or a reader
 * that asks for cursors, gets NODE_CONNECTED first, and NODE_UNAVAILABLE when the agent ends. Errors: ERR_INPUT_INVALID
 * before anything was written.
 */
export async function serveStream(options: StreamOptions, query: StreamQuery, sink: StreamSink): Promise<void> {
  const { node, ring, clock } = options;
  const start = startOf(ring, query);
  const cursor = (seq: number | undefined): string | undefined =>
    query.cursors && seq !== undefined ? `${ring.id}.${seq}` : undefined;
  const messageOf = (event: StreamEvent): StreamMessage =>
    'lost' in event
      ? lostMessage(event.source, event.lost, node, clock.now(), cursor(event.next))
      : itemMessage(event.item, node, cursor(event.next));
  const ended = new LinkedAbort(sink.gone, options.signal);
  options.onClients(1);
  try {
    if (query.follow || query.cursors) {
      await sink.write([statusMessage('NODE_CONNECTED', node, clock.now(), { cursor: cursor(start) })]);
    }
    for await (const batch of readStream(ring, query, ended.signal, start)) {
      if (sink.gone.aborted) return;
      for (const event of batch) if ('lost' in event && event.source === 'reader') options.onLost(event.lost);
      await sink.write(batch.map(messageOf));
    }
    if (query.follow && options.signal.aborted && !sink.gone.aborted) {
      await sink.write([statusMessage('NODE_UNAVAILABLE', node, clock.now(), { message: 'the agent is ending' })]);
    }
  } catch (error) {
    if (sink.gone.aborted) return;
    options.logger.warn('stream broke off', { error: errorText(error) });
    throw error;
  } finally {
    ended.release();
    options.onClients(-1);
  }
}
