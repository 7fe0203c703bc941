import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { goneSignal, writePart } from '../../net/http/index.ts';
import type { ApiError } from './api-error.ts';
import { acceptedEncoding, encoded } from './content-encoding.ts';

/** What a successful answer has beside `data`. */
export interface Extras {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** Sorted names of the nodes whose data the answer lacks. */
  readonly missingNodes: readonly string[];
  /** How the answer was computed, where `explain` asked for it. */
  readonly explain?: object | undefined;
}

export const noExtras: Extras = { warnings: [], infos: [], missingNodes: [] };

/** An answer is handed to the socket in pieces of about this many bytes; other requests run between two pieces. */
const pieceBytes = 64 * 1024;
const jsonType = 'application/json';

/**
 * Writes a success in Prometheus' envelope, streamed with back-pressure. Above 1 KiB it is compressed (zstd or gzip) if
 * the client accepts that. `degraded` and `missingNodes` are always present; a degraded answer may not be cached. Bytes
 * in `data` must be UTF-8.
 */
export async function sendSuccess(
  req: IncomingMessage,
  res: ServerResponse,
  data: Iterable<string | Uint8Array>,
  extras: Extras = noExtras,
): Promise<void> {
  const degraded = extras.missingNodes.length > 0;
  if (degraded) res.setHeader('cache-control', 'no-store');
  let tail = '';
  if (extras.warnings.length > 0) tail += `,"warnings":${JSON.stringify(extras.warnings)}`;
  if (extras.infos.length > 0) tail += `,"infos":${JSON.stringify(extras.infos)}`;
  if (extras.explain !== undefined) tail += `,"explain":${JSON.stringify(extras.explain)}`;
  tail += `,"degraded":${degraded},"missingNodes":${JSON.stringify(extras.missingNodes)}}`;
  const parts = new Parts();
  parts.add('{"status":"success","data":');
  const pieces = data[Symbol.iterator]();
  let next = pieces.next();
  for (; !next.done && parts.length < pieceBytes; next = pieces.next()) parts.add(next.value);
  res.setHeader('content-type', jsonType);
  res.setHeader('vary', 'accept-encoding');
  const encoding = parts.length > 1024 ? acceptedEncoding(req.headers['accept-encoding']) : undefined;
  if (next.done && encoding === undefined) {
    parts.add(tail);
    const body = parts.take();
    res.setHeader('content-length', body.length);
    res.end(body);
    return;
  }
  const out = encoded(res, encoding);
  const gone = goneSignal(res);
  for (; !next.done; next = pieces.next()) {
    parts.add(next.value);
    if (parts.length < pieceBytes) continue;
    if (gone.aborted) return;
    if (!(await writePart(out, parts.take(), gone))) await nextTurn();
  }
  parts.add(tail);
  if (!gone.aborted) out.end(parts.take());
}

/** Collects parts of a body until they are worth sending. A single part of bytes is passed on without a copy. */
class Parts {
  #bytes: Uint8Array[] = [];
  /** Text that was added after `#bytes`: many short texts are cheaper to encode as one. */
  #text = '';
  /** Approximate size so far: bytes, or characters of text. */
  length = 0;

  add(part: string | Uint8Array): void {
    this.length += part.length;
    if (typeof part === 'string') this.#text += part;
    else {
      this.#encode();
      this.#bytes.push(part);
    }
  }

  take(): Uint8Array {
    this.#encode();
    const all = this.#bytes;
    this.#bytes = [];
    this.length = 0;
    return all.length === 1 ? all[0]! : Buffer.concat(all);
  }

  #encode(): void {
    if (this.#text !== '') this.#bytes.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

export function sendError(res: ServerResponse, error: ApiError): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const body = JSON.stringify({ status: 'error', errorType: error.errorType, error: error.message });
  if (error.status === 401) res.setHeader('www-authenticate', 'Bearer');
  res.setHeader('cache-control', 'no-store');
  res.statusCode = error.status;
  res.setHeader('content-type', jsonType);
  res.setHeader('content-length', Buffer.byteLength(body));
  res.end(body);
}

export function sendText(res: ServerResponse, status: number, text: string): void {
  res.statusCode = status;
  res.setHeader('content-type', 'text/plain; charset=utf-8');
  res.setHeader('content-length', Buffer.byteLength(text));
  res.end(text);
}
