/** The stream of spans and flows: lines of JSON, read as they arrive. */
import type { StreamMessage } from '../../src/stream/stream-message.ts';
import { ApiFailure, chunksOf, failureOf, refusalOf, send } from './client.ts';

export type { FlowEnd, FlowRecord, SpanRecord } from '../../src/stream/records.ts';
export type { StreamMessage } from '../../src/stream/stream-message.ts';

/** A filter, with the fields that the page uses. Values of one field are OR-ed, fields are AND-ed. */
export type StreamFilter = Readonly<
  Partial<
    Record<
      'namespace' | 'workload' | 'node' | 'direction' | 'protocol' | 'path' | 'status' | 'minDuration' | 'traceId',
      readonly string[]
    >
  >
>;

/** A request for the stream; see `docs/reference/streams.md`. */
export interface StreamAsk {
  /** Number of newest past items. */
  readonly number: number;
  readonly follow?: boolean;
  /** RFC 3339, or a duration before now. */
  readonly since?: string;
  readonly include?: readonly StreamFilter[];
  readonly types?: readonly ('span' | 'flow')[];
}

export interface ReadStreamOptions {
  readonly signal: AbortSignal;
  /** Called when the server has begun to answer. */
  readonly onOpen?: () => void;
}

/** The longest accepted line; the query server refuses longer ones from agents. Unit: characters. */
export const maxLine = 1024 * 1024;
/** How long the head of an answer may take. Unit: ms. */
const headMs = 30_000;

/**
 * Reads one answer to its end and yields the complete messages of each chunk.
 * Errors: ApiFailure; the caller's own abort unchanged.
 */
export async function* readStream(
  ask: StreamAsk,
  { signal, onOpen }: ReadStreamOptions,
): AsyncGenerator<readonly StreamMessage[]> {
  // A stream may be silent for hours: the deadline covers only the head of the answer.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), headMs);
  const init = { method: 'POST', body: JSON.stringify(ask), headers: { 'content-type': 'application/json' } };
  try {
    const response = await send('v1/stream', init, { signal: AbortSignal.any([signal, late.signal]) });
    clearTimeout(timer);
    if (!response.ok) throw await refusalOf(response);
    onOpen?.();
    const lines = new Lines();
    if (response.body === null) return;
    for await (const chunk of chunksOf(response.body)) yield lines.take(chunk).map(messageOf);
  } catch (error) {
    throw failureOf(error, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Splits a body into lines, chunk by chunk. Text after the last line break is kept for the next chunk. */
export class Lines {
  readonly #decoder = new TextDecoder();
  #rest: string[] = [];
  #length = 0;

  /** Errors: ApiFailure `too-large` for a line that is too long. */
  take(chunk: Uint8Array): string[] {
    const [first = '', ...others] = this.#decoder.decode(chunk, { stream: true }).split('\n');
    this.#rest.push(first);
    this.#length += first.length;
    const whole: string[] = [];
    for (const part of others) {
      this.#check();
      whole.push(this.#rest.join(''));
      this.#rest = [part];
      this.#length = part.length;
    }
    this.#check();
    return whole.filter((line) => line !== '');
  }

  #check(): void {
    if (this.#length > maxLine) throw new ApiFailure('too-large', 'A line of the stream is larger than 1 MiB.');
  }
}

/** Errors: ApiFailure `refused` for a line that is not a message. */
export function messageOf(line: string): StreamMessage {
  const value = parsed(line) as Partial<StreamMessage> | null | undefined;
  const known = value?.span ?? value?.flow ?? value?.node_status ?? value?.lost;
  if (typeof value?.node !== 'string' || typeof value.time !== 'string' || typeof known !== 'object') {
    throw new ApiFailure('refused', 'The answer is not a stream of spans and flows.');
  }
  return value as StreamMessage;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}
