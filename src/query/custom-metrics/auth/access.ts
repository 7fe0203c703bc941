import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { canonicalJson, sha256Hex } from '../../../base/canonical-json.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { RecentAnswers } from '../../../base/recent-answers.ts';
import { within } from '../../../base/time-limit.ts';
import type { Logger } from '../../../base/logger.ts';
import { peerAddress } from '../../../net/http/index.ts';
import { ReviewLimit } from '../../../net/auth/review-limit.ts';
import type { ApiReviews, UserInfo } from '../../../kube/reviews.ts';
import { bearerToken } from '../../../net/auth/token-auth.ts';
import { chainOf } from '../../../net/verified-clients.ts';
import type { ResourceAttributes } from '../api/paths.ts';
import { notReady, StatusError } from '../api/status-error.ts';
import { anonymous, userByCertificate } from './authenticate.ts';
import type { ClientCas } from './client-ca.ts';

/** The Kubernetes reviews that authenticate and authorize. */
export type AccessReviews = Pick<ApiReviews, 'reviewToken' | 'mayAccessPath' | 'mayAccessResource'>;

export interface AccessOptions {
  readonly reviews: AccessReviews;
  readonly cas: Pick<ClientCas, 'config' | 'known'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The subject of a request: values of metrics, or a discovery path. */
export type Wish = ResourceAttributes | { readonly path: string };

/** Why no caller can be known by its certificate. */
export const unknownCas = 'the authentication configuration of the API server is not known';

const keptMs = 10_000;
const maxKept = 2_000;
const deadlineMs = 5_000;

/**
 * Authorizes requests as an aggregated API server does: front proxy, client certificate, bearer token, anonymous; then
 * a SubjectAccessReview. Results are cached for ten seconds; failed reviews are not cached.
 * A refusal of the anonymous user ends the connection: TLS verifies a certificate only once for each connection, so the
 * API server has to connect again after its CA has become known.
 * Errors: StatusError 401, 403, 429, 500, 503.
 */
export class Access {
  readonly #options: AccessOptions;
  readonly #limit: ReviewLimit;
  readonly #users: RecentAnswers<UserInfo | undefined>;
  readonly #rights: RecentAnswers<boolean>;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#limit = new ReviewLimit(options.clock);
    const kept = { clock: options.clock, keptMs, most: maxKept };
    this.#users = new RecentAnswers(kept);
    this.#rights = new RecentAnswers(kept);
  }

  /**
   * Identifies the caller.
   * Errors: 401 for an invalid token, 429 when too many tokens are presented, 503 while the CAs are not known.
   */
  async user(req: IncomingMessage): Promise<UserInfo> {
    const { cas, clock, reviews } = this.#options;
    const known = userByCertificate(req.headersDistinct, chainOf(req.socket as TLSSocket), cas.config, clock.now());
    if (known) return known;
    const token = bearerToken(req.headers.authorization);
    if (token === undefined) {
      if (!cas.known) throw notReady(unknownCas, { closes: true });
      return anonymous;
    }
    const key = sha256Hex(token);
    const waitSeconds = this.#users.has(key) ? null : this.#limit.take(peerAddress(req.socket), token);
    if (waitSeconds !== null) {
      throw new StatusError(429, 'TooManyRequests', `too many tokens are shown; try again in ${waitSeconds} s`);
    }
    const user = await this.#users.get(key, () => this.#within((signal) => reviews.reviewToken(token, signal)));
    if (!user) throw new StatusError(401, 'Unauthorized', 'Unauthorized');
    this.#limit.valid(token);
    return user;
  }

  /** Errors: 403. */
  async check(user: UserInfo, wish: Wish): Promise<void> {
    const { reviews } = this.#options;
    const allowed = await this.#rights.get(canonicalJson({ user, wish }), () =>
      this.#within((signal) =>
        'path' in wish
          ? reviews.mayAccessPath(user, 'get', wish.path, signal)
          : reviews.mayAccessResource(user, { ...wish }, signal),
      ),
    );
    if (!allowed) throw new StatusError(403, 'Forbidden', refusal(user, wish), { closes: user === anonymous });
  }

  #within<T>(review: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return within(this.#options.clock, deadlineMs, review).catch((error: unknown) => {
      this.#options.logger.warn('a caller could not be reviewed', { error: errorText(error) });
      throw new StatusError(500, 'InternalError', 'the caller could not be reviewed by the API server', {
        cause: error,
      });
    });
  }
}

function refusal({ username }: UserInfo, wish: Wish): string {
  const who = `User ${JSON.stringify(username)} cannot`;
  if ('path' in wish) return `forbidden: ${who} get path ${JSON.stringify(wish.path)}`;
  const { group, resource, subresource, namespace, name, verb } = wish;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const object = name === undefined ? '' : ` ${JSON.stringify(name)}`;
  return `${resource}.${group}${object} is forbidden: ${who} ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
}
