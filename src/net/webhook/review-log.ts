import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { RateLimiter } from '../../base/rate-limit.ts';
import { networkOf } from '../http/peer-address.ts';
import type { AdmissionRequest } from './admission.ts';

/** Lines per minute about one caller. An API server that applies many bad objects at once may come close to it. */
const linesPerMinute = 60;
/** The longest name of an object, which is also the longest of a resource, and of a namespace. */
const [nameLength, namespaceLength] = [253, 63];
const usernameLength = 256;
const messageLength = 1_024;

/**
 * The log of what a webhook refuses. Callers need no certificate, so anyone can cause lines.
 * Guarantees: a line has a few KiB at most, whatever the review holds; about one address, or one /64 of IPv6, there are
 * 60 lines a minute at most. Lines beyond are left out; the metrics count every review.
 */
export class ReviewLog {
  readonly #logger: Logger;
  readonly #lines: RateLimiter;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#lines = new RateLimiter(linesPerMinute, clock);
  }

  denied(caller: string, request: AdmissionRequest, message: string): void {
    if (!this.#has(caller)) return;
    this.#logger.info('request denied', {
      resource: request.resource.resource.slice(0, nameLength),
      namespace: request.namespace?.slice(0, namespaceLength),
      name: request.name.slice(0, nameLength),
      operation: request.operation,
      username: request.username.slice(0, usernameLength),
      reason: message.slice(0, messageLength),
    });
  }

  failed(caller: string, webhook: string, error: unknown): void {
    if (!this.#has(caller)) return;
    this.#logger.error('webhook failed', { webhook, error: errorText(error).slice(0, messageLength) });
  }

  /** Whether there may be one more line about a caller. */
  #has(caller: string): boolean {
    return this.#lines.take(networkOf(caller)) === null;
  }
}
