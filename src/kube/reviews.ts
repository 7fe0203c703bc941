import { resourceRef, type KubeObject } from '../api/meta.ts';
import type { KubeClient } from './client.ts';

const tokenReviews = resourceRef({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
});
const subjectAccessReviews = resourceRef({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
});

interface ReviewedUser {
  username: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** TokenReview and SubjectAccessReview over a client; the shape that `src/net/token-auth.ts` takes. */
export class ApiReviews {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** The user a bearer token belongs to, or undefined where it is not authenticated. */
  async reviewToken(token: string, signal: AbortSignal): Promise<ReviewedUser | undefined> {
    const answer = await this.#review(tokenReviews, { token }, signal);
    const status = answer['status'] as { authenticated?: boolean; user?: ReviewedUser } | undefined;
    return status?.authenticated && status.user?.username ? status.user : undefined;
  }

  /** Whether the user may do `verb` on a path outside the resources. */
  async mayAccessPath(user: ReviewedUser, verb: string, path: string, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#review(
      subjectAccessReviews,
      {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        nonResourceAttributes: { path, verb },
      },
      signal,
    );
    return (answer['status'] as { allowed?: boolean } | undefined)?.allowed === true;
  }

  /** Whether the user may get pods in the namespace; without one, in all namespaces. */
  async mayReadPods(user: ReviewedUser, namespace: string | undefined, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#review(
      subjectAccessReviews,
      {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        resourceAttributes: { ...(namespace === undefined ? {} : { namespace }), verb: 'get', resource: 'pods' },
      },
      signal,
    );
    return (answer['status'] as { allowed?: boolean } | undefined)?.allowed === true;
  }

  /** Whether the user may do something with a resource; the attributes are those of `SubjectAccessReview`. */
  async mayAccessResource(
    user: ReviewedUser,
    resourceAttributes: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { username, uid, groups, extra } = user;
    const spec = { user: username, uid, groups, extra, resourceAttributes };
    const answer = await this.#review(subjectAccessReviews, spec, signal);
    return (answer['status'] as { allowed?: boolean } | undefined)?.allowed === true;
  }

  #review(resource: typeof tokenReviews, spec: unknown, signal: AbortSignal): Promise<KubeObject> {
    const { apiVersion, kind } = resource;
    return this.#client.create(resource, { apiVersion, kind, metadata: {}, spec }, { signal });
  }
}
