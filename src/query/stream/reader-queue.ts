import { lostMessage, type StreamMessage } from '../../stream/index.ts';
import type { Received } from './agent-stream.ts';

/** The sender name of svc-query's own messages in the stream; the other senders are nodes. */
export const relayName = 'svc-query';

/**
 * The destination of messages. `write` resolves when the reader can accept more; `gone` aborts when the reader has
 * left.
 */
export interface StreamSink {
  readonly write: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly gone: AbortSignal;
}

export interface QueueOptions {
  readonly maxBytes: number;
  readonly now: () => number;
  readonly onLost: (count: number) => void;
}

/** Size of one write: large enough that a busy stream needs few writes. */
const batchMessages = 256;
const batchBytes = 256 * 1024;
/** Approximate size of a message that carries no item (a span or flow). Units: bytes. */
const wordBytes = 300;

/**
 * Queue between the agents and one reader, which may be slower. Agents never wait for the reader: an item that does not
 * fit is dropped, and the reader gets one message with the number of dropped items in their place. Messages about nodes
 * have the same amount of room in addition.
 */
export class ReaderQueue {
  readonly #options: QueueOptions;
  #waiting: Received[] = [];
  #bytes = 0;
  #lost = 0;
  #wake = (): void => {};

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Approximate size of the queued messages. Units: bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Queues an item, or drops it. */
  push(item: Received): void {
    if (this.#bytes + item.bytes > this.#options.maxBytes) this.#drop(1);
    else this.#put(item);
  }

  /** Queues a message about nodes or losses. A loss whose message does not fit is added to this queue's own losses. */
  tell(message: StreamMessage): void {
    const { maxBytes } = this.#options;
    if (message.lost && this.#bytes > maxBytes) this.#drop(message.lost.count);
    else if (this.#bytes > 2 * maxBytes) this.#drop(1);
    else this.#put({ message, bytes: wordBytes });
  }

  /**
   * Writes everything to the reader until the reader is gone, or until `ended` aborts and the rest is written.
   * Errors: those of the reader.
   */
  async drain(sink: StreamSink, ended: AbortSignal): Promise<void> {
    const wake = (): void => this.#wake();
    sink.gone.addEventListener('abort', wake);
    ended.addEventListener('abort', wake);
    try {
      while (!sink.gone.aborted) {
        const batch = this.#take();
        if (batch.length > 0) await sink.write(batch);
        else if (ended.aborted) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      sink.gone.removeEventListener('abort', wake);
      ended.removeEventListener('abort', wake);
    }
  }

  #drop(count: number): void {
    this.#lost += count;
    this.#options.onLost(count);
  }

  #put(item: Received): void {
    if (this.#lost > 0) {
      const message = lostMessage('relay', this.#lost, relayName, this.#options.now());
      this.#lost = 0;
      this.#waiting.push({ message, bytes: wordBytes });
      this.#bytes += wordBytes;
    }
    this.#waiting.push(item);
    this.#bytes += item.bytes;
    this.#wake();
  }

  #take(): StreamMessage[] {
    let count = 0;
    let bytes = 0;
    while (count < this.#waiting.length && count < batchMessages && bytes < batchBytes)
      bytes += this.#waiting[count++]!.bytes;
    const batch = this.#waiting.splice(0, count).map(({ message }) => message);
    this.#bytes -= bytes;
    if (this.#waiting.length === 0 && this.#lost > 0) {
      batch.push(lostMessage('relay', this.#lost, relayName, this.#options.now()));
      this.#lost = 0;
    }
    return batch;
  }
}
