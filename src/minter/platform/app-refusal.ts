import { isInForce } from '../sign/app-jwt.ts';
import type { PlatformAnswer } from './platform-client.ts';

/** What to say of an answer that `isAppUnknown`. */
export const appUnknown = 'the platform knows no App with this ID';

/**
 * Whether the platform knows no App with the ID that signed the request. GitHub then answers 404 on every route, and
 * only the message tells it from any other 404. Source: probot/probot#1655.
 */
export function isAppUnknown(answer: PlatformAnswer): boolean {
  return answer.status === 404 && messageOf(answer) === 'Integration not found';
}

/**
 * What is wrong with the clock of this node, if that may be why the platform refused a JWT signed just now: the refusal
 * names a time in the JWT, or comes from a clock at which the JWT is not in force. Undefined if neither is so.
 * Units: `nowMs` is wall time. Source of the messages: octokit/auth-app.js#146, #698.
 */
export function clockSkew(answer: PlatformAnswer, nowMs: number): string | undefined {
  const { dateMs = nowMs } = answer;
  const refused = 'the platform refuses the signature: the clock of this node is';
  const isNamed = /'(iat|exp)'/.test(messageOf(answer));
  if (!isNamed && isInForce(nowMs, dateMs)) return undefined;
  // In tens of seconds, so that the message does not change with each check.
  const seconds = Math.round((nowMs - dateMs) / 10_000) * 10;
  if (seconds === 0) return `${refused} not the platform's`;
  return `${refused} about ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} the platform's`;
}

function messageOf({ data }: PlatformAnswer): string {
  const { message } = (data ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : '';
}
