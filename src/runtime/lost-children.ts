import type { KubeObject } from '../api/meta.ts';
import { getIfExists, type KubeClient } from '../kube/index.ts';
import { keyOf } from './keys.ts';
import type { Informer, ObjectKey } from './types.ts';

export interface LostChild {
  informer: Informer;
  object: KubeObject;
}

/** What is asked about the children out of sight. */
export interface LostQuery {
  /** uid of the owner; undefined for sets without one. */
  owner: string | undefined;
  /** Whether a child of that kind and name is wanted: then applying it gives it its label back. */
  wanted: (informer: Informer, key: ObjectKey) => boolean;
  belongs: ((object: KubeObject) => boolean) | undefined;
  signal: AbortSignal;
}

interface Trace {
  informer: Informer;
  key: ObjectKey;
  uid: string;
  owners: readonly string[];
  /** As they were when the child was last in sight; undefined where it never was. */
  labels: Record<string, string> | undefined;
}

/** Traces that are kept; those of owners that are gone are never asked for, and the oldest fall out. */
const maxTraces = 2_000;
const pageSize = 500;

/**
 * Children that a watch by selector no longer shows though they may exist: to such a watch, losing a label and being
 * deleted look the same.
 *
 * Flow: each departure leaves a trace → the next run for its owner asks the API server for it by name. What left while
 * nobody ran has no trace, so the first question of a process looks once at the metadata of everything in the scope of
 * each source for objects that this manager applied and the cache does not have.
 * Guarantees: only an object with the uid that was lost, still controlled by the owner (or, without one, still applied
 * by this manager) is found; no request where nothing was lost, but for that first look.
 * Caveats: without an owner there is no first look, as nothing would tell whose a stray is.
 */
export class LostChildren {
  readonly #client: KubeClient;
  readonly #manager: string;
  readonly #scoped: readonly Informer[];
  readonly #traces = new Map<string, Trace>();
  #firstLook: Promise<void> | undefined;

  /** `isOurs(uid)`: this set deleted it itself. */
  constructor(options: {
    client: KubeClient;
    manager: string;
    children: readonly Informer[];
    isOurs: (uid: string) => boolean;
  }) {
    this.#client = options.client;
    this.#manager = options.manager;
    this.#scoped = options.children.filter(
      ({ source }) => source.labelSelector !== undefined || source.fieldSelector !== undefined,
    );
    for (const informer of this.#scoped) {
      informer.onEvent(({ type, object }) => {
        if (type === 'deleted' && !options.isOurs(object.metadata.uid ?? '')) this.#leaveTrace(informer, object, true);
      });
    }
  }

  /** The unwanted ones that exist. Each is found until `forget`. Errors: of the API server. */
  async find(query: LostQuery): Promise<LostChild[]> {
    if (query.owner !== undefined) {
      this.#firstLook ??= this.#look(query.signal).catch((error: unknown) => {
        this.#firstLook = undefined;
        throw error;
      });
      await this.#firstLook;
    }
    const found: LostChild[] = [];
    for (const trace of [...this.#traces.values()]) {
      if (query.owner !== undefined && !trace.owners.includes(query.owner)) continue;
      const object = await this.#stillThere(trace, query);
      if (object) found.push({ informer: trace.informer, object });
    }
    return found;
  }

  forget(uid: string): void {
    this.#traces.delete(uid);
  }

  async #stillThere(trace: Trace, query: LostQuery): Promise<KubeObject | undefined> {
    const { informer, key, uid, labels } = trace;
    // In sight again, or another object of that name.
    const settled = query.wanted(informer, key) || informer.get(key) !== undefined;
    const live = settled
      ? undefined
      : await getIfExists(this.#client, informer.source.resource, key, {
          metadataOnly: query.belongs === undefined,
          signal: query.signal,
        });
    if (!live || live.metadata.uid !== uid || live.metadata.deletionTimestamp || !this.#ours(live, query.owner)) {
      this.#traces.delete(uid);
      return undefined;
    }
    const asItWas = labels ? { ...live, metadata: { ...live.metadata, labels } } : live;
    return query.belongs && !query.belongs(asItWas) ? undefined : live;
  }

  #ours(live: KubeObject, owner: string | undefined): boolean {
    return owner === undefined ? appliedBy(live, this.#manager) : controllerUids(live).includes(owner);
  }

  async #look(signal: AbortSignal): Promise<void> {
    for (const informer of this.#scoped) {
      const { resource, namespace } = informer.source;
      let next: string | undefined;
      do {
        const options = { namespace, metadataOnly: true, limit: pageSize, continue: next, signal };
        const page = await this.#client.list(resource, options);
        for (const object of page.items) {
          const inSight = informer.get(keyOf(object))?.metadata.uid === object.metadata.uid;
          if (!inSight && appliedBy(object, this.#manager)) this.#leaveTrace(informer, object, false);
        }
        next = page.continue;
      } while (next !== undefined);
    }
  }

  #leaveTrace(informer: Informer, object: KubeObject, wasInSight: boolean): void {
    const { uid = '', labels = {} } = object.metadata;
    if (this.#traces.has(uid)) return;
    if (this.#traces.size >= maxTraces) this.#traces.delete(this.#traces.keys().next().value!);
    const { namespace, name } = keyOf(object);
    const owners = controllerUids(object);
    this.#traces.set(uid, { informer, key: { namespace, name }, uid, owners, labels: wasInSight ? labels : undefined });
  }
}

/** The uids of those that `ownerReferences` name as controller. */
export function controllerUids({ metadata }: Pick<KubeObject, 'metadata'>): string[] {
  return (metadata.ownerReferences ?? []).filter((r) => r.controller).map((r) => r.uid);
}

/** Whether a manager has applied the object by server-side apply. */
export function appliedBy({ metadata }: Pick<KubeObject, 'metadata'>, manager: string): boolean {
  return metadata.managedFields?.some((e) => e.manager === manager && e.operation === 'Apply') ?? false;
}
