import type { ObjectKind } from '../../api/page/types.ts';
import type { Clock } from '../../base/clock.ts';
import { NamespaceAccess, type NamespaceAccessOptions } from '../../net/auth/namespace-access.ts';
import type { ApiReviews, UserInfo } from '../../kube/reviews.ts';
import type { WatchedKind } from './watch-objects.ts';

export interface ObjectAccessOptions {
  readonly reviews: Pick<ApiReviews, 'mayAccessResource'> & NamespaceAccessOptions['reviews'];
  readonly namespaces: NamespaceAccessOptions['namespaces'];
  readonly kinds: Readonly<Record<ObjectKind, WatchedKind>>;
  readonly clock: Clock;
}

/** The namespaces whose objects of a kind are visible; undefined for all. */
export type Visible = ReadonlySet<string> | undefined;

/**
 * The objects that a caller may see: those that it may `list` at the API server itself. The query server's own rights
 * are never used for a caller. A caller without a user is one that needs no token (loopback): it sees what the server
 * sees.
 */
export class ObjectAccess {
  readonly #byKind: ReadonlyMap<string, NamespaceAccess>;
  readonly #pods: NamespaceAccess;

  constructor({ reviews, namespaces, kinds, clock }: ObjectAccessOptions) {
    this.#pods = new NamespaceAccess({ reviews, namespaces, clock });
    this.#byKind = new Map(
      Object.entries(kinds).map(([kind, { resource }]) => {
        const { group, plural, namespaced } = resource;
        const mayRead = (user: UserInfo, namespace: string | undefined, signal: AbortSignal): Promise<boolean> =>
          reviews.mayAccessResource(user, { verb: 'list', group, resource: plural, namespace }, signal);
        // For cluster-scoped kinds one review decides.
        const within = namespaced ? namespaces : { synced: true, names: () => [] };
        return [kind, new NamespaceAccess({ clock, namespaces: within, reviews: { mayReadPods: mayRead } })];
      }),
    );
  }

  /**
   * The namespaces whose objects of a kind may be shown. Errors: those of a failed review; nothing may be shown then.
   */
  async objects(user: UserInfo | undefined, kind: ObjectKind): Promise<Visible> {
    return user && this.#byKind.get(kind)!.visible(user);
  }

  /** The namespaces whose pods may be named. */
  async pods(user: UserInfo | undefined): Promise<Visible> {
    return user && this.#pods.visible(user);
  }
}
