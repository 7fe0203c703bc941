/** The only client of the API: typed requests with a deadline, an abort signal, a size limit, and errors by kind. */
import { authorization, questionOf, takeEarly, tokenKey } from './early.ts';
import { serverClock } from './server-clock.ts';
import { readStored, store } from './storage.ts';

/** A successful answer: its data, and the fields that every answer has. */
export interface Answer<T> {
  readonly data: T;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** Whether nodes are missing from the answer. */
  readonly degraded: boolean;
  readonly missingNodes: readonly string[];
  /** How the query ran, if `explain` asked for it. */
  readonly explain?: unknown;
}

export type FailureKind =
  'unauthorized' | 'forbidden' | 'refused' | 'unavailable' | 'timeout' | 'too-large' | 'network';

/** A failed request. `message` is a sentence for the user: the API's own if there is one. */
export class ApiFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'ApiFailure';
    this.kind = kind;
  }
}

/** How long a request may take whose caller says nothing else. Unit: ms. */
export const defaultDeadlineMs = 30_000;

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Unit: ms. Default: `defaultDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
  /** Maximum bytes of a body; a larger one is an error. Default: 64 MiB. */
  readonly maxBytes?: number;
}

const listeners = new Set<() => void>();
let token = readStored('sessionStorage', tokenKey) ?? '';

/** Stores the bearer token for this browser tab only; views that wait for a token retry. */
export function setToken(value: string): void {
  token = value.trim();
  store('sessionStorage', tokenKey, token);
  for (const listener of listeners) listener();
}

/** Calls `listener` after each change of the token. Returns the function that unsubscribes. */
export function onToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Sends a request with this tab's token. Errors: ApiFailure `network` and `timeout`; the caller's own abort unchanged.
 */
export async function send(path: string, init: RequestInit, { signal, deadlineMs }: AskOptions): Promise<Response> {
  const deadline = deadlineMs === undefined ? [] : [AbortSignal.timeout(deadlineMs)];
  const ends = [...(signal ? [signal] : []), ...deadline];
  const ended = AbortSignal.any(ends);
  try {
    ended.throwIfAborted();
    const early = init.method === undefined ? takeEarly(path, token) : undefined;
    if (early === undefined) {
      const headers = { ...init.headers, ...authorization(token) };
      const sentAtMs = Date.now();
      const response = await fetch(path, { ...init, headers, signal: ended });
      serverClock.learn(response, sentAtMs);
      return response;
    }
    ended.addEventListener('abort', () => early.cancel.abort(ended.reason), { once: true });
    // Nothing is learnt from its date: it may have arrived long ago, while the page's code was loaded.
    return await early.response;
  } catch (error) {
    throw failureOf(error, signal);
  }
}

/** Converts an error of a request to a failure that the page can show. The caller's own abort is returned unchanged. */
export function failureOf(error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted || error instanceof ApiFailure) return error;
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new ApiFailure('timeout', 'The query server did not answer in time.');
  }
  return new ApiFailure('network', 'The query server cannot be reached.');
}

/** Any error as a failure that the page can show. */
export const asFailure = (error: unknown): ApiFailure =>
  error instanceof ApiFailure ? error : new ApiFailure('network', String(error));

/** A fault of the server, or of a proxy in front of it, is temporary. An unimplemented request (501) is a refusal. */
function kindOf(status: number): FailureKind {
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  return status === 429 || (status >= 500 && status !== 501) ? 'unavailable' : 'refused';
}

/** The failure for an answer that is not a success. */
export async function refusalOf(response: Response): Promise<ApiFailure> {
  const text = await textOf(response, 64 * 1024).catch(() => '');
  let sentence = '';
  let kind = kindOf(response.status);
  try {
    const body = JSON.parse(text) as { error?: unknown; message?: unknown; errorType?: unknown };
    // 503, as for a server that is away; but this query ran, and reached its limit.
    if (body.errorType === 'timeout') kind = 'timeout';
    sentence = String(body.error ?? body.message ?? '');
  } catch {
    // A proxy in between may answer with an HTML page, which is not shown.
  }
  return new ApiFailure(kind, sentence || `${response.status} ${response.statusText}`);
}

/** The body as text. Errors: ApiFailure `too-large`. */
async function textOf(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response.body)) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      const most = Math.round(maxBytes / 1024 / 1024);
      throw new ApiFailure('too-large', `The answer is larger than ${most} MiB: ask for less, or for a shorter time.`);
    }
    parts.push(decoder.decode(chunk, { stream: true }));
  }
  return parts.join('') + decoder.decode();
}

/** The chunks of a body; leaving the loop early cancels the rest. */
export async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** One GET of `api/v1/<path>`. Errors: ApiFailure; the caller's abort unchanged. */
export function ask<T>(
  path: string,
  params: Readonly<Record<string, string>> = {},
  options: AskOptions = {},
): Promise<Answer<T>> {
  return askFor(questionOf(path, params), options);
}

/** Like `ask`, for a URL from `questionOf`. */
export async function askFor<T>(question: string, options: AskOptions = {}): Promise<Answer<T>> {
  const { signal, deadlineMs = defaultDeadlineMs, maxBytes = 64 * 1024 * 1024 } = options;
  const response = await send(question, {}, { signal, deadlineMs });
  if (!response.ok) throw await refusalOf(response);
  let body: (Partial<Answer<T>> & { status?: string }) | null;
  try {
    body = JSON.parse(await textOf(response, maxBytes)) as typeof body;
  } catch (error) {
    if (error instanceof SyntaxError) throw new ApiFailure('refused', 'The answer is not of the query API.');
    throw failureOf(error, signal);
  }
  if (body?.status !== 'success') throw new ApiFailure('refused', 'The answer is not of the query API.');
  const { data, warnings = [], infos = [], degraded = false, missingNodes = [], explain } = body;
  return { data: data as T, warnings, infos, degraded, missingNodes, explain };
}
