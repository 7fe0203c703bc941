import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { sha256Hex } from '../../base/canonical-json.ts';
import { errorText } from '../../base/errors.ts';
import type { ApiReviews, UserInfo } from '../../kube/reviews.ts';
import type { Logger } from '../../base/logger.ts';
import { RateLimiter } from '../../base/rate-limit.ts';
import { RecentAnswers } from '../../base/recent-answers.ts';
import { within } from '../../base/time-limit.ts';
import { isLoopback, peerAddress } from '../http/index.ts';
import { ReviewLimit } from './review-limit.ts';

/** The two reviews of the Kubernetes API that decide about a bearer token. */
export type ReviewClient = Pick<ApiReviews, 'reviewToken' | 'mayAccessPath'>;

export type Decision =
  { allowed: true; user?: UserInfo } | { allowed: false; status: 401 | 403 | 429 | 503; message: string };

export interface TokenAuthOptions {
  reviews: ReviewClient;
  clock: Clock;
  logger: Logger;
  /** Requests from 127.0.0.1 and ::1, that is from inside the pod, pass without a token. */
  loopbackExempt: boolean;
}

const maxCached = 2_000;
/** How long a decision is reused, and so how long a revoked right still works. Units: ms. */
const cacheMs = 10_000;
const reviewDeadlineMs = 5_000;
/** Log lines per minute about failed reviews with the same cause: callers without any permission can trigger them. */
const warningsPerMinute = 1;
const maxTokenLength = 16 * 1024;

/**
 * Authorises one HTTP request: loopback exemption, then bearer token → TokenReview → SubjectAccessReview.
 * Decisions are cached by (hash of the token, verb, path) for seconds; a failed review is not cached. Concurrent
 * requests with one token share one review, and reviews of new tokens are limited (429).
 * The token itself is never kept or logged.
 */
export class TokenAuth {
  readonly #options: TokenAuthOptions;
  readonly #decisions: RecentAnswers<Decision>;
  readonly #limit: ReviewLimit;
  readonly #warnings: RateLimiter;

  constructor(options: TokenAuthOptions) {
    this.#options = options;
    this.#limit = new ReviewLimit(options.clock);
    this.#warnings = new RateLimiter(warningsPerMinute, options.clock);
    const isKept = (decision: Decision): boolean => decision.allowed || decision.status !== 503;
    this.#decisions = new RecentAnswers({ clock: options.clock, keptMs: cacheMs, most: maxCached, isKept });
  }

  async decide(req: IncomingMessage, verb: string, path: string): Promise<Decision> {
    if (this.#options.loopbackExempt && isLoopback(req.socket)) return { allowed: true };
    const token = bearerToken(req.headers.authorization);
    if (token === undefined) return { allowed: false, status: 401, message: 'a bearer token is required' };
    const key = `${sha256Hex(token)} ${verb} ${path}`;
    const waitSeconds = this.#decisions.has(key) ? null : this.#limit.take(peerAddress(req.socket), token);
    if (waitSeconds !== null) {
      return { allowed: false, status: 429, message: `too many tokens are shown; try again in ${waitSeconds} s` };
    }
    return this.#decisions.get(key, () =>
      within(this.#options.clock, reviewDeadlineMs, (signal) => this.#review(token, verb, path, signal)),
    );
  }

  async #review(token: string, verb: string, path: string, signal: AbortSignal): Promise<Decision> {
    try {
      const user = await this.#options.reviews.reviewToken(token, signal);
      if (!user) return { allowed: false, status: 401, message: 'the bearer token is not valid' };
      this.#limit.valid(token);
      if (await this.#options.reviews.mayAccessPath(user, verb, path, signal)) return { allowed: true, user };
      return { allowed: false, status: 403, message: `${user.username} may not ${verb} ${path}` };
    } catch (cause) {
      const error = errorText(cause);
      if (this.#warnings.take(error) === null) {
        this.#options.logger.warn('a caller could not be reviewed', { path, error });
      }
      return { allowed: false, status: 503, message: 'the token could not be reviewed by the API server; try again' };
    }
  }
}

/** The token of an `Authorization: Bearer …` header (RFC 6750 §2.1), or undefined. */
export function bearerToken(header: string | undefined): string | undefined {
  if (!header || header.length > maxTokenLength) return undefined;
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
}
