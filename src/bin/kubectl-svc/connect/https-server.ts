import { request as httpsRequest, type Agent, type RequestOptions } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Clock } from '../../../base/clock.ts';
import { OperatorError } from '../../../base/errors.ts';
import { answerTo, readWhole } from '../../../base/wire/http-body.ts';
import { TimeLimit } from '../../../base/time-limit.ts';
import { callFailure, RefusedError, statusFailure } from './failures.ts';
import type { QueryRequest, QueryResponse, QueryServer } from './query-server.ts';

export interface HttpsServerOptions {
  readonly target: string;
  /** Host, port, trust and path prefix of every request. */
  readonly tls: RequestOptions;
  /** Opens and keeps the connections. */
  readonly agent: Agent;
  readonly token: string | undefined;
  /** The token to show in place of one that was refused. Absent: a refusal is final. */
  readonly renewToken?: () => Promise<string | undefined>;
  /** For the hints of errors. */
  readonly operatorNamespace: string;
  readonly clock: Clock;
}

const defaultDeadlineMs = 30_000;
const defaultMaxBytes = 256 * 1024 * 1024;

/** Sends requests to svc-query over HTTPS. One that is answered 401 is repeated once if there is another token. */
export function httpsServer(options: HttpsServerOptions): QueryServer {
  const { target, agent, renewToken } = options;
  let { token } = options;
  const authorized = async <T>(call: (current: HttpsServerOptions) => Promise<T>): Promise<T> => {
    const shown = token;
    try {
      return await call({ ...options, token: shown });
    } catch (error) {
      if (!renewToken || !(error instanceof RefusedError) || error.status !== 401) throw error;
      // A call that ran at the same time may have renewed the token.
      if (token === shown) token = (await renewToken()) ?? shown;
      if (token === shown) throw error;
      return call({ ...options, token });
    }
  };
  return {
    target,
    request: (request) =>
      authorized((current) => exchange(current, request, (res) => wholeAnswer(current, request, res))),
    stream: (request) =>
      authorized((current) =>
        exchange(current, request, async (res) => {
          if (res.statusCode !== 200) await refused(current, request, res);
          return { status: res.statusCode ?? 0, headers: res.headers, body: body(current, request, res) };
        }),
      ),
    close: () => agent.destroy(),
  };
}

/** Sends the request; `use` reads the answer within the remaining time. */
async function exchange<T>(
  options: HttpsServerOptions,
  request: QueryRequest,
  use: (res: IncomingMessage) => Promise<T>,
): Promise<T> {
  const { clock, target } = options;
  const deadlineMs = request.deadlineMs ?? defaultDeadlineMs;
  if (request.signal?.aborted) throw new OperatorError('ERR_ABORTED', 'interrupted');
  const limit = new TimeLimit(clock, deadlineMs, request.signal);
  try {
    return await use(await answerTo(send(options, request, limit.signal)));
  } catch (error) {
    if (limit.passed) throw new OperatorError('ERR_TIMEOUT', `${target}: no answer within ${deadlineMs / 1000} s`);
    if (request.signal?.aborted) throw new OperatorError('ERR_ABORTED', 'interrupted');
    throw callFailure(error, options);
  } finally {
    limit.release();
  }
}

function send(options: HttpsServerOptions, request: QueryRequest, signal: AbortSignal): ClientRequest {
  const { tls, agent, token } = options;
  const content = request.form?.toString() ?? request.body;
  const headers: Record<string, string> = {
    'user-agent': 'kubectl-svc',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(request.form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    ...(content === undefined ? {} : { 'content-length': String(Buffer.byteLength(content)) }),
    ...request.headers,
  };
  const method = request.method ?? (content === undefined ? 'GET' : 'POST');
  return httpsRequest({ ...tls, agent, method, path: `${tls.path ?? ''}${request.path}`, headers, signal }).end(
    content,
  );
}

async function wholeAnswer(
  options: HttpsServerOptions,
  request: QueryRequest,
  res: IncomingMessage,
): Promise<QueryResponse> {
  const text = await readAll(options, request, res);
  const status = res.statusCode ?? 0;
  if (status === 401 || status === 403) throw statusFailure(status, text, options);
  return { status, headers: res.headers, text };
}

/** Throws the error of a stream that the server did not open. */
async function refused(options: HttpsServerOptions, request: QueryRequest, res: IncomingMessage): Promise<never> {
  throw statusFailure(res.statusCode ?? 0, await readAll(options, request, res), options);
}

async function readAll(
  { target }: HttpsServerOptions,
  { maxBytes = defaultMaxBytes }: QueryRequest,
  res: IncomingMessage,
): Promise<string> {
  const tooLarge = (): Error =>
    new OperatorError('ERR_TOO_LARGE', `${target}: the answer is larger than ${maxBytes >> 20} MiB`);
  return (await readWhole(res, maxBytes, tooLarge)).toString('utf8');
}

async function* body(
  options: HttpsServerOptions,
  { signal }: QueryRequest,
  res: IncomingMessage,
): AsyncGenerator<Buffer> {
  const end = (): void => void res.destroy();
  signal?.addEventListener('abort', end, { once: true });
  // The signal may have aborted between the headers and the first read.
  if (signal?.aborted) end();
  try {
    for await (const chunk of res as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    if (!signal?.aborted) throw callFailure(error, options);
  } finally {
    signal?.removeEventListener('abort', end);
    res.destroy();
  }
}
