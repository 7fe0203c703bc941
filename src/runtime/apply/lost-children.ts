import type { KubeObject } from '../../api/meta.ts';
import { unlessAborted } from '../../base/aborted.ts';
import { getIfExists, type KubeClient } from '../../kube/index.ts';
import { keyOf, keyText } from '../keys.ts';
import type { Informer, ObjectKey } from '../types.ts';

export interface LostChild {
  /** The argument of `forget`. */
  trace: string;
  informer: Informer;
  object: KubeObject;
}

/** The inputs of a search for children that the cache does not show. */
export interface LostQuery {
  /** uid of the object that owns the children; undefined when they have no owner. */
  owner: string | undefined;
  /** Whether a child of that kind and name is wanted: then the next apply restores its label. */
  wanted: (informer: Informer, key: ObjectKey) => boolean;
  belongs: ((object: KubeObject) => boolean) | undefined;
  signal: AbortSignal;
}

interface Trace {
  informer: Informer;
  key: ObjectKey;
  /** Undefined for a write with unknown outcome. */
  uid: string | undefined;
  owners: readonly string[];
  /** The labels when the child was last visible; undefined when it never was. */
  labels: Record<string, string> | undefined;
}

/** Most traces kept. Traces of deleted owners are never queried, and the oldest are dropped. */
const maxTraces = 2_000;
const pageSize = 500;

/**
 * Children that a watch with a selector no longer shows, and that may still exist: to such a watch the loss of a label
 * and a deletion look the same.
 *
 * Flow: each departure leaves a trace, and so does each write without an answer, which may have created a child that
 * lost its label before a watch could show it → the next run for the owner asks the API server for that child by name.
 * A departure while no operator ran leaves no trace. So each process once lists the metadata of all objects in the
 * scope of each source, to find those that this manager applied and that the cache lacks.
 * Guarantees: an object is found only by the uid that was lost, and only while the owner still controls it. When uid or
 * owner is unknown, it is found only if this manager applied it. When nothing was lost, no request is made except that
 * first list.
 * Caveats: without an owner there is no first list, because nothing shows which set a stray object belongs to.
 */
export class LostChildren {
  readonly #client: KubeClient;
  readonly #manager: string;
  readonly #scoped: readonly Informer[];
  readonly #deletedHere: (uid: string) => boolean;
  readonly #traces = new Map<string, Trace>();
  #firstLook: Promise<void> | undefined;

  /** `deletedHere(uid)`: true for an object that this set deleted itself. */
  constructor(options: {
    client: KubeClient;
    manager: string;
    children: readonly Informer[];
    deletedHere: (uid: string) => boolean;
  }) {
    this.#client = options.client;
    this.#manager = options.manager;
    this.#deletedHere = options.deletedHere;
    this.#scoped = options.children.filter(
      ({ source }) => source.labelSelector !== undefined || source.fieldSelector !== undefined,
    );
    for (const informer of this.#scoped) {
      informer.onEvent(({ type, object }) => {
        if (type === 'deleted' && !this.#deletedHere(object.metadata.uid ?? ''))
          this.#leaveTrace(informer, object, true);
      });
    }
  }

  /**
   * The lost children that exist and are not wanted. Each is returned until `forget`, or until it is visible again.
   * Errors: those of the API server; the signal's reason.
   */
  async find(query: LostQuery): Promise<LostChild[]> {
    if (query.owner !== undefined) {
      this.#firstLook ??= this.#look().catch((error: unknown) => {
        this.#firstLook = undefined;
        throw error;
      });
      await unlessAborted(query.signal, this.#firstLook);
    }
    const found: LostChild[] = [];
    for (const [id, trace] of [...this.#traces]) {
      if (query.owner !== undefined && !trace.owners.includes(query.owner)) continue;
      if (this.#inSight(trace, query)) {
        this.#traces.delete(id);
        continue;
      }
      // The trace is kept: the child may have been lost after this run had checked it, and the next run may not want it
      // any more.
      if (query.wanted(trace.informer, trace.key)) continue;
      const live = await this.#stillThere(trace, query);
      if (!live) this.#traces.delete(id);
      else if (belongs(trace, live, query)) found.push({ trace: id, informer: trace.informer, object: live });
    }
    return found;
  }

  /** A write of `object` failed or had no answer: the object may exist nevertheless, whatever the cache shows. */
  suspect(informer: Informer, object: KubeObject): void {
    if (this.#scoped.includes(informer)) this.#leaveTrace(informer, object, true);
  }

  forget(trace: string): void {
    this.#traces.delete(trace);
  }

  async #stillThere(trace: Trace, query: LostQuery): Promise<KubeObject | undefined> {
    const { informer, key, uid } = trace;
    const live = await getIfExists(this.#client, informer.source.resource, key, {
      metadataOnly: query.belongs === undefined,
      signal: query.signal,
    });
    if (!live || live.metadata.deletionTimestamp) return undefined;
    if (uid === undefined ? this.#deletedHere(live.metadata.uid ?? '') : live.metadata.uid !== uid) return undefined;
    if (query.owner !== undefined && !controllerUids(live).includes(query.owner)) return undefined;
    const known = uid !== undefined && query.owner !== undefined;
    return known || appliedBy(live, this.#manager) ? live : undefined;
  }

  /**
   * Whether the object, or another one of that name, is visible again. Two cached states do not count, because they may
   * be stale. The first is an object that we have deleted: a new object of that name may exist already. The second,
   * after a write without an answer, is an object of another owner: the write may have given it to this owner.
   */
  #inSight({ informer, key, uid }: Trace, { owner }: LostQuery): boolean {
    const shown = informer.get(key);
    if (!shown || this.#deletedHere(shown.metadata.uid ?? '')) return false;
    return uid !== undefined || owner === undefined || controllerUids(shown).includes(owner);
  }

  /** Has no signal of a run, because all runs wait for it; each list has the client's deadline. */
  async #look(): Promise<void> {
    for (const informer of this.#scoped) {
      const { resource, namespace } = informer.source;
      let next: string | undefined;
      do {
        const options = { namespace, metadataOnly: true, limit: pageSize, continue: next };
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
    const { uid, labels = {} } = object.metadata;
    const { namespace, name } = keyOf(object);
    const id = uid ?? `${informer.source.resource.plural} ${keyText({ namespace, name })}`;
    if (uid !== undefined && this.#traces.has(id)) return;
    if (this.#traces.size >= maxTraces) this.#traces.delete(this.#traces.keys().next().value!);
    const owners = controllerUids(object);
    this.#traces.set(id, { informer, key: { namespace, name }, uid, owners, labels: wasInSight ? labels : undefined });
  }
}

/** Judges a child by the labels that it had when it was last visible. */
function belongs({ labels }: Trace, live: KubeObject, query: LostQuery): boolean {
  if (!query.belongs) return true;
  return query.belongs(labels ? { ...live, metadata: { ...live.metadata, labels } } : live);
}

/** The uids of the owners that `ownerReferences` marks as controller. */
export function controllerUids({ metadata }: Pick<KubeObject, 'metadata'>): string[] {
  return (metadata.ownerReferences ?? []).filter((r) => r.controller).map((r) => r.uid);
}

/** Whether a manager has applied the object by server-side apply. */
export function appliedBy({ metadata }: Pick<KubeObject, 'metadata'>, manager: string): boolean {
  return metadata.managedFields?.some((e) => e.manager === manager && e.operation === 'Apply') ?? false;
}
