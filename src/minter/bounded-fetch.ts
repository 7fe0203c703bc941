import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { readWhole } from '../base/wire/http-body.ts';
import { Agent, requestStream } from '../base/wire/http-client.ts';
import { TimeLimit } from '../base/time-limit.ts';

export interface BoundedFetchOptions {
  clock: Clock;
  /** Limit of one exchange, headers and body together. A function is called for each exchange. Units: ms. */
  timeoutMs: number | (() => number);
  maxBytes: number;
}

/** The connections to all servers, kept open for reuse. */
const connections = new Agent();

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * `fetch` for a server that is not trusted with our time or memory: a deadline over headers and body, a size cap, no
 * redirects (a 3xx is returned as it is), and a body only if it is uncompressed JSON. Any other body is left out. No
 * compression is requested, so the cap applies to the bytes on the wire.
 * This function uses undici's `request`: the web streams of undici's `fetch` cost more than the exchange itself.
 * Errors: ERR_TIMEOUT, ERR_TOO_LARGE, or TypeError on network errors, like fetch.
 */
export function boundedFetch(options: BoundedFetchOptions): typeof fetch {
  const tooLarge = (): Error => new OperatorError('ERR_TOO_LARGE', `answer larger than ${options.maxBytes} bytes`);
  return async (input, init) => {
    const ms = typeof options.timeoutMs === 'number' ? options.timeoutMs : options.timeoutMs();
    const outer = init?.signal ?? undefined;
    const limit = new TimeLimit(options.clock, ms, outer);
    try {
      outer?.throwIfAborted();
      const { origin, pathname, search } = new URL(input as string | URL);
      const { statusCode, headers, body } = await requestStream(connections, {
        origin,
        path: `${pathname}${search}`,
        method: (init?.method ?? 'GET') as 'GET',
        headers: Object.fromEntries(new Headers(init?.headers)),
        body: (init?.body ?? null) as string | null,
        signal: limit.signal,
      });
      if (isPlainJson(headers)) return answer(statusCode, headers, await readWhole(body, options.maxBytes, tooLarge));
      // Any other body is read to its end if it is short, so that the connection can be reused.
      await body.dump({ limit: options.maxBytes, signal: limit.signal });
      return answer(statusCode, headers, null);
    } catch (error) {
      if (limit.passed)
        throw new OperatorError('ERR_TIMEOUT', `no answer within ${Math.round(ms)} ms`, { cause: error });
      if (error instanceof OperatorError || outer?.aborted) throw error;
      throw new TypeError('fetch failed', { cause: error });
    } finally {
      limit.release();
    }
  };
}

function answer(status: number, received: AnswerHeaders, body: Uint8Array | null): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    // These headers describe the transfer, but the body here is complete.
    if (value === undefined || name === 'content-length' || name === 'transfer-encoding') continue;
    if (body === null && name === 'content-type') continue;
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? (body as Uint8Array<ArrayBuffer> | null) : null, { status, headers });
}

function isPlainJson(headers: AnswerHeaders): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return false;
  const type = String(headers['content-type'] ?? '')
    .split(';')[0]!
    .trim()
    .toLowerCase();
  return (
    type === 'application/json' || type === 'application/jwk-set+json' || /^application\/[a-z0-9.-]+\+json$/.test(type)
  );
}
