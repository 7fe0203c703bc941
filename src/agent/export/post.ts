import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import { answerTo, readWhole } from '../../base/wire/http-body.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { guardedLookup, type GuardRule, hostFault } from './address-guard.ts';

export interface PostAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one body. Errors: ERR_EXPORT_NOT_ALLOWED, ERR_EXPORT_SEND. */
export type Post = (url: URL, headers: Readonly<Record<string, string>>, body: Uint8Array) => Promise<PostAnswer>;

/** Longest time of a request, from connecting to the last byte of the answer. Units: ms. */
const deadlineMs = 30_000;
/** A larger answer is treated as empty: its body only explains the status. Units: bytes. */
const maxAnswerBytes = 64 * 1024;

/**
 * Makes a function that posts to one destination over kept-alive connections. The host is checked against its rule
 * before each request, and each address at the moment of connecting. Redirects are not followed: they would bypass both
 * checks.
 */
export function createPost(rule: GuardRule, clock: Clock, signal: AbortSignal): { post: Post; close: () => void } {
  const options = { keepAlive: true, maxSockets: 8, timeout: 60_000, lookup: guardedLookup(rule) };
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };
  const post: Post = async (url, headers, body) => {
    const fault = hostFault(rule);
    if (fault) throw new OperatorError('ERR_EXPORT_NOT_ALLOWED', fault);
    const limit = new TimeLimit(clock, deadlineMs, signal);
    const agent = agents[url.protocol === 'https:' ? 'https:' : 'http:'];
    try {
      return await send(url, { method: 'POST', headers, agent, signal: limit.signal }, body);
    } catch (cause) {
      if (isOperatorError(cause)) throw cause;
      const reason = limit.passed ? `no answer within ${deadlineMs} ms` : errorText(cause);
      throw new OperatorError('ERR_EXPORT_SEND', `${url.host}: ${reason}`, { cause });
    } finally {
      limit.release();
    }
  };
  return {
    post,
    close: () => {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

async function send(url: URL, options: RequestOptions, body: Uint8Array): Promise<PostAnswer> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = { ...options.headers, 'content-length': String(body.length) };
  const res = await answerTo(request(url, { ...options, headers }).end(body));
  const tooLarge = new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
  const answer = { status: res.statusCode ?? 0, headers: res.headers };
  try {
    return { ...answer, body: await readWhole(res, maxAnswerBytes, () => tooLarge) };
  } catch (error) {
    if (error !== tooLarge) throw error;
    return { ...answer, body: Buffer.alloc(0) };
  }
}
