import { coreResources } from '../api/core-resources.ts';
import type { KubeObject } from '../api/meta.ts';
import type { KubeClient } from './client.ts';

/** The owner of a bearer token, as TokenReview returns it. */
export interface UserInfo {
  username: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

interface TokenStatus {
  authenticated?: boolean;
  user?: UserInfo;
  audiences?: string[];
}

export interface ReviewOptions {
  /** Name of the program, such as `svc-query`: the audience of tokens that are valid for this program only. */
  readonly audience: string;
  /** The program's own token. Its claims name the API server's own audience. */
  readonly ownToken: () => Promise<string | undefined>;
}

/**
 * TokenReview and SubjectAccessReview calls. Implements the interface that `src/net/auth/token-auth.ts` expects.
 * A review names the accepted audiences: the program's own, and the API server's, for which tokens are issued by
 * default. Tokens for other audiences are not valid here.
 */
export class ApiReviews {
  readonly #client: KubeClient;
  readonly #options: ReviewOptions;

  constructor(client: KubeClient, options: ReviewOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** The owner of a bearer token, or undefined when the token is not authenticated. */
  async reviewToken(token: string, signal: AbortSignal): Promise<UserInfo | undefined> {
    const audiences = await this.#audiences();
    const answer = await create(
      this.#client,
      coreResources.tokenReviews,
      { token, ...(audiences ? { audiences } : {}) },
      signal,
    );
    const status = answer['status'] as TokenStatus | undefined;
    if (!status?.authenticated || !status.user?.username) return undefined;
    // Without audiences in the answer, the token is valid for the API server's own audience, which is among the
    // requested ones. Source: TokenReviewStatus.
    const { audiences: confirmed = [] } = status;
    const counts = confirmed.length === 0 || !audiences || confirmed.some((one) => audiences.includes(one));
    return counts ? status.user : undefined;
  }

  /**
   * The audiences that a review names. Undefined when the API server's own audience is not known, as outside a cluster:
   * the API server then checks against its own audience.
   */
  async #audiences(): Promise<string[] | undefined> {
    const { audience, ownToken } = this.#options;
    const own = serviceAccountAudiences(await ownToken().catch(() => undefined));
    return own.length === 0 ? undefined : [...new Set([audience, ...own])];
  }

  /** Whether the user may do `verb` on a non-resource path. */
  mayAccessPath(user: UserInfo, verb: string, path: string, signal: AbortSignal): Promise<boolean> {
    return this.#isAllowed(user, { nonResourceAttributes: { path, verb } }, signal);
  }

  /** Whether the user may get pods in the namespace; undefined: in all namespaces. */
  mayReadPods(user: UserInfo, namespace: string | undefined, signal: AbortSignal): Promise<boolean> {
    return this.mayAccessResource(user, { namespace, verb: 'get', resource: 'pods' }, signal);
  }

  /** Whether the user may access a resource; the attributes are those of `SubjectAccessReview`. */
  mayAccessResource(
    user: UserInfo,
    resourceAttributes: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#isAllowed(user, { resourceAttributes }, signal);
  }

  async #isAllowed(user: UserInfo, attributes: object, signal: AbortSignal): Promise<boolean> {
    const { username, uid, groups, extra } = user;
    const spec = { user: username, uid, groups, extra, ...attributes };
    const answer = await create(this.#client, coreResources.subjectAccessReviews, spec, signal);
    return (answer['status'] as { allowed?: boolean } | undefined)?.allowed === true;
  }
}

/** Audiences of a service account's token, unverified; none of any other token. */
function serviceAccountAudiences(token: string | undefined): string[] {
  try {
    const payload = JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString('utf8')) as {
      sub?: unknown;
      aud?: unknown;
    };
    if (typeof payload.sub !== 'string' || !payload.sub.startsWith('system:serviceaccount:')) return [];
    const list = Array.isArray(payload.aud) ? payload.aud : [payload.aud];
    return list.filter((one): one is string => typeof one === 'string' && one !== '');
  } catch {
    return [];
  }
}

/** The user of a token that was issued for `audience`; undefined for every other token, valid elsewhere or not. */
export async function reviewTokenFor(
  client: KubeClient,
  audience: string,
  token: string,
  signal: AbortSignal,
): Promise<UserInfo | undefined> {
  const answer = await create(client, coreResources.tokenReviews, { token, audiences: [audience] }, signal);
  const status = answer['status'] as TokenStatus | undefined;
  // Without audiences in the answer, the token is valid for the API server's own audience, not for this one. Source:
  // TokenReviewStatus.
  return status?.authenticated && status.audiences?.includes(audience) ? status.user : undefined;
}

function create(
  client: KubeClient,
  resource: typeof coreResources.tokenReviews,
  spec: unknown,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { apiVersion, kind } = resource;
  return client.create(resource, { apiVersion, kind, metadata: {}, spec }, { signal });
}
