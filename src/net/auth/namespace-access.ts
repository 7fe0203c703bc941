import { unlessAborted } from '../../base/aborted.ts';
import type { Clock } from '../../base/clock.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { RecentAnswers } from '../../base/recent-answers.ts';
import { within } from '../../base/time-limit.ts';
import type { ApiReviews, UserInfo } from '../../kube/reviews.ts';

export interface NamespaceAccessOptions {
  /** The review that decides whether a user may read the pods of a namespace, or of all (`undefined`). */
  readonly reviews: Pick<ApiReviews, 'mayReadPods'>;
  readonly clock: Clock;
  /** The existing namespaces; `synced` is false until the list is complete. */
  readonly namespaces: { readonly synced: boolean; names(): readonly string[] };
}

const maxCached = 10_000;
/** How long a review is reused, and so how long a revoked permission still works. Units: ms. */
const cacheMs = 10_000;
const parallel = 16;
/** How long a request waits for its reviews, and how long one review may take. Units: ms. */
const deadlineMs = 10_000;

/**
 * Which namespaces' pods a user may read: one SubjectAccessReview for all namespaces and, only if that is denied, one
 * for each namespace. Reviews are cached for seconds; failed ones are not. Requests share them, so a review has a limit
 * of its own and goes on when a request that waits for it ends.
 */
export class NamespaceAccess {
  readonly #options: NamespaceAccessOptions;
  readonly #allowed: RecentAnswers<boolean>;

  constructor(options: NamespaceAccessOptions) {
    this.#options = options;
    this.#allowed = new RecentAnswers({ clock: options.clock, keptMs: cacheMs, most: maxCached });
  }

  /** The namespaces whose pods the user may read; undefined: all. Errors: those of a review; then show nothing. */
  visible(user: UserInfo): Promise<ReadonlySet<string> | undefined> {
    return within(this.#options.clock, deadlineMs, (signal) => unlessAborted(signal, this.#visible(user, signal)));
  }

  async #visible(user: UserInfo, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const key = canonicalJson({ ...user });
    if (await this.#may(user, key, undefined, signal)) return undefined;
    const { namespaces } = this.#options;
    if (!namespaces.synced) throw new Error('the list of namespaces is not complete yet');
    const names = namespaces.names();
    const visible = new Set<string>();
    let next = 0;
    const work = async (): Promise<void> => {
      try {
        while (next < names.length) {
          const name = names[next++]!;
          if (await this.#may(user, key, name, signal)) visible.add(name);
        }
      } finally {
        // After a failure, the reviews that have not started yet are not needed.
        next = names.length;
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, names.length) }, work));
    return visible;
  }

  /** Errors: those of the review; once `signal` has aborted, its reason. */
  async #may(user: UserInfo, userKey: string, namespace: string | undefined, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const { reviews, clock } = this.#options;
    return this.#allowed.get(`${namespace ?? ''} ${userKey}`, () =>
      within(clock, deadlineMs, (limited) => reviews.mayReadPods(user, namespace, limited)),
    );
  }
}
