import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { errorText, OperatorError } from '../base/errors.ts';
import { readWhole } from '../base/wire/http-body.ts';
import { requestStream } from '../base/wire/http-client.ts';
import { CallLimit } from './call-limit.ts';
import type { Credentials, Endpoint } from './credentials.ts';
import { ApiError, apiError, isTooManyRequests, isUnauthorized } from './errors.ts';
import { exchange } from './exchange.ts';

export interface HttpCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with query, from the server's root. */
  path: string;
  /** The subject of the call, for messages: `get Pod shop/web-0`. */
  what: string;
  body?: string | undefined;
  contentType?: string | undefined;
  accept?: string | undefined;
  signal?: AbortSignal | undefined;
  deadlineMs?: number | undefined;
  maxBytes?: number | undefined;
  retry?: boolean | undefined;
}

/** One finished exchange, for metrics. `code` is the status as text, or `<error>` when no answer came. */
export interface RequestObservation {
  method: string;
  host: string;
  code: string;
  durationMs: number;
}

/** @internal */
export interface TransportOptions {
  credentials: Credentials;
  clock: Clock;
  userAgent: string;
  onRequest?: ((observation: RequestObservation) => void) | undefined;
  onRetry?: ((method: string, host: string) => void) | undefined;
}

const defaultDeadlineMs = 30_000;
const maxAnswerBytes = 128 * 1024 * 1024;
const maxRetries = 5;
const maxRetryAfterMs = 30_000;

/**
 * @internal
 * HTTP to the API server: deadline, size cap, Retry-After and token refresh, for whole answers and for streams.
 */
export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** Sends a call and returns the parsed JSON answer. Errors: see `KubeClient`. */
  async json(call: HttpCall): Promise<unknown> {
    const text = await this.text(call);
    if (text === '') return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new OperatorError('ERR_API_REQUEST', `${call.what}: the answer is not JSON`, { cause });
    }
  }

  /** Sends a call and returns the text of the answer. Errors: see `KubeClient`. */
  async text(call: HttpCall): Promise<string> {
    const { clock, credentials, onRetry } = this.#options;
    const deadlineMs = call.deadlineMs ?? defaultDeadlineMs;
    const limit = new CallLimit(clock, deadlineMs, call.what, call.signal);
    let refused = false;
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          return await this.#once(call, limit);
        } catch (error) {
          const wait = limit.reason ? undefined : this.#retryDelay(call, error, { attempt, refused });
          refused ||= isUnauthorized(error);
          if (wait === undefined || clock.monotonic() + wait >= limit.endsAt) throw limit.explain(error);
          onRetry?.(call.method, new URL(credentials.server).host);
          if (wait > 0) await limit.pause(wait);
        }
      }
    } finally {
      limit.close();
    }
  }

  /** Opens a stream; resolves once the answer's headers say 200. The caller's signal ends it. */
  async stream(call: HttpCall & { signal: AbortSignal }): Promise<AsyncIterable<Uint8Array>> {
    const headers = new AbortController();
    const limit = new CallLimit(this.#options.clock, call.deadlineMs ?? defaultDeadlineMs, call.what, call.signal);
    try {
      const endpoint = await this.#endpoint(limit);
      if (limit.reason) throw limit.reason;
      limit.onEnd = () => headers.abort();
      const answer = await this.#open(call, endpoint, headers.signal);
      if (answer.statusCode !== 200) {
        const tooLarge = (): Error => new OperatorError('ERR_TOO_LARGE', `${call.what}: too large`);
        const text = await readWhole(answer.body, 1024 * 1024, tooLarge).then(String, () => '');
        throw this.#failure(call, answer.statusCode, answer.headers['retry-after'], text);
      }
      const abort = (): void => headers.abort(call.signal.reason);
      call.signal.addEventListener('abort', abort, { once: true });
      answer.body.once('close', () => call.signal.removeEventListener('abort', abort));
      return streamed(call, answer.body);
    } catch (error) {
      throw limit.explain(error);
    } finally {
      limit.close();
    }
  }

  /** The headers that authenticate a call. Errors: ERR_CONFIG_INVALID, ERR_TIMEOUT, ERR_ABORTED. */
  async authentication(call: Pick<HttpCall, 'what' | 'signal' | 'deadlineMs'>): Promise<Record<string, string>> {
    const { clock } = this.#options;
    const limit = new CallLimit(clock, call.deadlineMs ?? defaultDeadlineMs, call.what, call.signal);
    try {
      return (await this.#endpoint(limit)).headers;
    } finally {
      limit.close();
    }
  }

  /** The endpoint. It may wait for an exec plugin, and then for a person, who has the time that a login takes. */
  #endpoint(limit: CallLimit): Promise<Endpoint> {
    const { credentials } = this.#options;
    const endpoint = credentials.current();
    return limit.share(endpoint, !credentials.asksPerson);
  }

  async #once(call: HttpCall, limit: CallLimit): Promise<string> {
    const { credentials } = this.#options;
    const endpoint = await this.#endpoint(limit);
    const observe = this.#observer(call, endpoint);
    let seen = false;
    const maxBytes = call.maxBytes ?? maxAnswerBytes;
    const onHead = (status: number): void => {
      seen = true;
      observe(String(status));
    };
    const { status, headers, text } = await exchange(endpoint.dispatcher, this.#request(call, endpoint), {
      limit,
      what: call.what,
      maxBytes,
      onHead,
    }).catch((error: unknown) => {
      if (!seen) observe('<error>');
      throw error;
    });
    if (status === 401) credentials.invalidate();
    if (status < 200 || status > 299) throw this.#failure(call, status, headers['retry-after'], text);
    return text;
  }

  /** Opens a call whose answer is read as a stream. */
  async #open(call: HttpCall, endpoint: Endpoint, signal: AbortSignal): Promise<Dispatcher.ResponseData<null>> {
    const observe = this.#observer(call, endpoint);
    try {
      const answer = await requestStream(endpoint.dispatcher, { ...this.#request(call, endpoint), signal });
      observe(String(answer.statusCode));
      if (answer.statusCode === 401) this.#options.credentials.invalidate();
      return answer;
    } catch (error) {
      observe('<error>');
      throw error;
    }
  }

  #request(call: HttpCall, endpoint: Endpoint): Dispatcher.RequestOptions {
    const headers: Record<string, string> = {
      accept: call.accept ?? 'application/json',
      'user-agent': this.#options.userAgent,
      ...endpoint.headers,
    };
    if (call.body !== undefined) headers['content-type'] = call.contentType ?? 'application/json';
    return {
      origin: endpoint.origin,
      path: endpoint.basePath + call.path,
      method: call.method,
      headers,
      ...(call.body !== undefined ? { body: call.body } : {}),
      // This class enforces the deadline; undici's own timers are off.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  #observer(call: HttpCall, endpoint: Endpoint): (code: string) => void {
    const { clock, onRequest } = this.#options;
    const started = clock.monotonic();
    return (code) =>
      onRequest?.({ method: call.method, host: endpoint.host, code, durationMs: clock.monotonic() - started });
  }

  #failure(call: HttpCall, status: number, retryAfter: string | string[] | undefined, text: string): ApiError {
    let body: unknown = text;
    try {
      body = JSON.parse(text) as unknown;
    } catch {
      // Proxies and half-started servers answer in plain text.
    }
    const header = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
    return apiError(call.what, status, body, header, this.#options.clock.now());
  }

  /** How long to wait before a retry, or undefined for no retry. `refused`: an earlier attempt was answered 401. */
  #retryDelay(
    call: HttpCall,
    error: unknown,
    { attempt, refused }: { attempt: number; refused: boolean },
  ): number | undefined {
    if (call.retry === false || attempt >= maxRetries) return undefined;
    if (error instanceof ApiError) {
      // Retried once, with the credentials read again: the token may have been rotated since the last read.
      if (isUnauthorized(error)) return refused ? undefined : 0;
      const serverBusy = isTooManyRequests(error) || error.status >= 500;
      if (serverBusy && error.retryAfterMs !== undefined) return Math.min(error.retryAfterMs, maxRetryAfterMs);
      return isTooManyRequests(error) ? Math.min(1000 * 2 ** attempt, maxRetryAfterMs) : undefined;
    }
    if (error instanceof OperatorError) return undefined;
    // No answer came. Only a read may be repeated: twice, as the first attempt may have met a kept-alive connection
    // that the server had closed.
    return call.method === 'GET' && attempt < 2 ? 50 * 4 ** attempt : undefined;
  }
}

async function* streamed(
  call: HttpCall & { signal: AbortSignal },
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    if (call.signal.aborted) throw new OperatorError('ERR_ABORTED', `${call.what}: cancelled`, { cause });
    throw new OperatorError('ERR_WATCH_BROKEN', `${call.what}: ${errorText(cause)}`, { cause });
  }
}
