import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import { guardedLookup, type GuardRule, hostFault } from './address-guard.ts';

export interface PostAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one body. Errors: ERR_EXPORT_NOT_ALLOWED, ERR_EXPORT_SEND. */
export type Post = (url: URL, headers: Readonly<Record<string, string>>, body: Uint8Array) => Promise<PostAnswer>;

/** Connect to last byte. Units: ms. */
const deadlineMs = 30_000;
/** Only this much of an answer is read. Units: bytes. */
const maxAnswerBytes = 64 * 1024;

/**
 * A poster to one destination, with keep-alive. The host is checked against its rule before each request, and each
 * address at the moment of connecting. Redirects are not followed: they would bypass both checks.
 */
export function createPost(rule: GuardRule, signal: AbortSignal): { post: Post; close: () => void } {
  const options = { keepAlive: true, maxSockets: 8, timeout: 60_000, lookup: guardedLookup(rule) };
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };
  const post: Post = (url, headers, body) =>
    new Promise((resolve, reject) => {
      const fault = hostFault(rule);
      if (fault) return reject(new OperatorError('ERR_EXPORT_NOT_ALLOWED', fault));
      const deadline = AbortSignal.timeout(deadlineMs);
      const fail = (cause: unknown): void => {
        if (isOperatorError(cause)) return reject(cause);
        const reason = deadline.aborted ? `no answer within ${deadlineMs} ms` : errorText(cause);
        reject(new OperatorError('ERR_EXPORT_SEND', `${url.host}: ${reason}`, { cause }));
      };
      const secure = url.protocol === 'https:';
      const req = (secure ? httpsRequest : httpRequest)(
        url,
        {
          method: 'POST',
          headers: { ...headers, 'content-length': String(body.length) },
          agent: secure ? agents['https:'] : agents['http:'],
          signal: AbortSignal.any([deadline, signal]),
        },
        (res) => {
          const chunks: Buffer[] = [];
          let size = 0;
          res.on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size <= maxAnswerBytes) chunks.push(chunk);
            else res.destroy(new Error(`the answer is larger than ${maxAnswerBytes} bytes`));
          });
          res.on('end', () =>
            resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }),
          );
          res.on('error', fail);
        },
      );
      req.on('error', fail);
      req.end(body);
    });
  return {
    post,
    close: () => {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}
