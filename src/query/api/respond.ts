import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiError } from './api-error.ts';
import { acceptedEncoding, encoded } from './content-encoding.ts';

/** What stands beside `data` in the envelope of a success. */
export interface Extras {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** Sorted names of the nodes whose data the answer lacks. */
  readonly missingNodes: readonly string[];
  /** How the answer was made, where it was asked for. */
  readonly explain?: object | undefined;
}

export const noExtras: Extras = { warnings: [], infos: [], missingNodes: [] };

/** Text is handed to the socket in pieces of about this many characters; other requests run between two. */
const pieceLength = 64 * 1024;
const jsonType = 'application/json';

/**
 * Writes a success in Prometheus' envelope, streamed with back-pressure and, where accepted, packed (zstd or gzip).
 * `degraded` and `missingNodes` are always there; a degraded answer may not be cached.
 */
export async function sendSuccess(
  req: IncomingMessage,
  res: ServerResponse,
  data: Iterable<string>,
  extras: Extras = noExtras,
): Promise<void> {
  const degraded = extras.missingNodes.length > 0;
  if (degraded) res.setHeader('cache-control', 'no-store');
  let tail = '';
  if (extras.warnings.length > 0) tail += `,"warnings":${JSON.stringify(extras.warnings)}`;
  if (extras.infos.length > 0) tail += `,"infos":${JSON.stringify(extras.infos)}`;
  if (extras.explain !== undefined) tail += `,"explain":${JSON.stringify(extras.explain)}`;
  tail += `,"degraded":${degraded},"missingNodes":${JSON.stringify(extras.missingNodes)}}`;
  const head = '{"status":"success","data":';
  const first: string[] = [head];
  let length = head.length;
  const pieces = data[Symbol.iterator]();
  let next = pieces.next();
  while (!next.done && length < pieceLength) {
    first.push(next.value);
    length += next.value.length;
    next = pieces.next();
  }
  res.setHeader('content-type', jsonType);
  res.setHeader('vary', 'accept-encoding');
  const zip = length > 1024 && acceptedEncoding(req.headers['accept-encoding'] as string | undefined) !== undefined;
  if (next.done && !zip) {
    const body = Buffer.from(first.join('') + tail);
    res.setHeader('content-length', body.length);
    res.end(body);
    return;
  }
  const out = zip ? encoded(req, res) : res;
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  let text = first.join('');
  for (; !next.done; next = pieces.next()) {
    text += next.value;
    if (text.length < pieceLength) continue;
    if (gone.signal.aborted) return;
    if (!out.write(text)) await once(out, 'drain', { signal: gone.signal }).catch(() => {});
    else await nextTurn();
    text = '';
  }
  if (!gone.signal.aborted) out.end(text + tail);
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
