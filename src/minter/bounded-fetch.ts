import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';

export interface BoundedFetchOptions {
  clock: Clock;
  /** Limit of one exchange, headers and body together, ms. A function is asked at each call. */
  timeoutMs: number | (() => number);
  maxBytes: number;
}

/**
 * `fetch` for talking to a server we do not trust with our time or memory: a deadline over headers and body, a size
 * cap, no redirects (a 3xx comes back as it is), and a body only where it is JSON. Other bodies read as empty.
 * Errors: ERR_TIMEOUT, ERR_TOO_LARGE, or fetch's own TypeError on network trouble.
 */
export function boundedFetch(options: BoundedFetchOptions): typeof fetch {
  return async (input, init) => {
    const aborter = new AbortController();
    const ms = typeof options.timeoutMs === 'number' ? options.timeoutMs : options.timeoutMs();
    let timedOut = false;
    const cancel = options.clock.setTimeout(() => {
      timedOut = true;
      aborter.abort();
    }, ms);
    const outer = init?.signal;
    const onOuter = (): void => aborter.abort(outer?.reason);
    outer?.addEventListener('abort', onOuter, { once: true });
    try {
      outer?.throwIfAborted();
      const response = await fetch(input, { ...init, signal: aborter.signal, redirect: 'manual' });
      if (!isJson(response.headers.get('content-type'))) {
        await response.body?.cancel();
        return bare(response, null);
      }
      return bare(response, await readCapped(response, options.maxBytes, aborter));
    } catch (error) {
      if (timedOut) throw new OperatorError('ERR_TIMEOUT', `no answer within ${Math.round(ms)} ms`, { cause: error });
      throw error;
    } finally {
      cancel();
      outer?.removeEventListener('abort', onOuter);
    }
  };
}

async function readCapped(response: Response, maxBytes: number, aborter: AbortController): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += (chunk as Uint8Array).length;
    if (length > maxBytes) {
      aborter.abort();
      throw new OperatorError('ERR_TOO_LARGE', `answer larger than ${maxBytes} bytes`);
    }
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks);
}

/** The same answer over bytes that were read already. */
function bare(response: Response, body: Uint8Array | null): Response {
  const headers = new Headers(response.headers);
  // The body below is decoded and whole, whatever the wire said.
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) headers.delete(name);
  if (body === null) headers.delete('content-type');
  const hasBody = response.status !== 204 && response.status !== 205 && response.status !== 304;
  return new Response(hasBody ? (body as Uint8Array<ArrayBuffer> | null) : null, { status: response.status, headers });
}

function isJson(contentType: string | null): boolean {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  return (
    type === 'application/json' || type === 'application/jwk-set+json' || /^application\/[a-z0-9.-]+\+json$/.test(type)
  );
}
