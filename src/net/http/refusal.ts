import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Why a request, a connection or a session was refused; values of the label `reason` of the metrics. */
export const refusalReasons = ['malformed', 'too_large', 'timeout', 'connections', 'flood', 'failed'] as const;
export type RefusalReason = (typeof refusalReasons)[number];

const texts = {
  400: ['malformed', 'the request is not valid HTTP'],
  405: ['malformed', 'this method is not allowed here'],
  408: ['timeout', 'the request did not arrive in time'],
  413: ['too_large', 'the request is too large'],
  414: ['too_large', 'the request target is too long'],
  431: ['too_large', 'the headers are too large'],
  500: ['failed', 'internal error'],
  503: ['flood', 'too many requests are in flight; try again'],
} as const satisfies Record<number, readonly [RefusalReason, string]>;

export type RefusalStatus = keyof typeof texts;

/** An error answer that the server itself gives, before or instead of a handler. */
export interface Refusal {
  readonly status: RefusalStatus;
  readonly reason: RefusalReason;
  readonly message: string;
}

/** The form of an API's error answers. */
export type RefusalForm = (refusal: Refusal) => {
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export function refusalOf(status: RefusalStatus): Refusal {
  const [reason, message] = texts[status];
  return { status, reason, message };
}

/** A line of plain text, as for probes and metrics. */
export const plainForm: RefusalForm = ({ message }) => ({ type: 'text/plain; charset=utf-8', body: `${message}\n` });

/** `{code, message}`, as on the agent's ports. */
export const codeForm: RefusalForm = ({ status, message }) => ({
  type: 'application/json',
  body: JSON.stringify({ code: STATUS_CODES[status]!.toLowerCase().replaceAll(' ', '_'), message }),
});

/** Answers with a refusal and then closes the connection (HTTP/1.1). Does nothing when an answer has begun. */
export function sendRefusal(req: IncomingMessage, res: ServerResponse, refusal: Refusal, form: RefusalForm): void {
  if (res.headersSent || res.destroyed) return;
  const { type, body, headers } = form(refusal);
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  res.writeHead(refusal.status, {
    ...headers,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(refusal.status === 503 ? { 'retry-after': '1' } : {}),
    ...(req.httpVersionMajor < 2 ? { connection: 'close' } : {}),
  });
  res.end(req.method === 'HEAD' ? undefined : body);
}

/** Writes a refusal straight to the socket, for bytes that never became a request. */
export function sendRawRefusal(socket: Duplex, refusal: Refusal, form: RefusalForm): void {
  const { type, body, headers } = form(refusal);
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
