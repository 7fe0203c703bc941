import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { errorText, eachError, joined, throwAll } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import {
  describe,
  fieldConflicts,
  getIfExists,
  isConflict,
  isNotFound,
  type FieldConflict,
  type KubeClient,
} from '../../kube/index.ts';
import { heal, releaseUpdates } from './heal.ts';
import { keyOf, keyText } from '../keys.ts';
import { announceDrift, type Drift } from './drift.ts';
import { DriftMemory } from './drift-memory.ts';
import { appliedBy, controllerUids, LostChildren, type LostChild } from './lost-children.ts';
import { ownsExactly } from './managed-fields.ts';
import { controllerReference, refuseForeign, refuseUnknown, requireSameNamespace, type Owner } from './owner.ts';
import { Recreations } from './recreations.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import type { EventRecorder, Informer } from '../types.ts';

/** The identity of an apply set, which is its field manager and controller, and the caches that show its children. */
export interface ApplySetOptions {
  client: KubeClient;
  /** `<component>/<controller>`. */
  fieldManager: string;
  /** The `controller` label of metrics. */
  controller: string;
  metrics?: RuntimeMetrics | undefined;
  /** Default: the system clock. */
  clock?: Clock | undefined;
  /** Gets an Event when a change to a child is reverted. The Event names the manager that had made the change. */
  events?: EventRecorder | undefined;
  /**
   * One informer for each kind of child. Its selector is the labels that all children carry. The informers show which
   * children exist and which are to be pruned. They must keep managedFields.
   */
  children: readonly Informer[];
}

/** The children that must exist now, and their owner. */
export interface ApplyRequest {
  /** What must exist, in the order it is applied. */
  wanted: readonly KubeObject[];
  /**
   * The object that owns the children; it is set in their `ownerReferences`. A namespaced owner owns only objects of its
   * namespace: any other child is a failure, ERR_INPUT_INVALID. Leave it out for sets beyond one namespace.
   */
  owner?: Owner | undefined;
  /**
   * Whether an existing child belongs to this set, as a condition in addition to the informers' selectors. Default: the
   * children that `owner` controls; without an owner, all.
   */
  belongs?: ((object: KubeObject) => boolean) | undefined;
  /** Changes a child just before it is compared and applied; it also gets the live object, with or without our labels. */
  adjust?: ((child: KubeObject, live: KubeObject | undefined) => KubeObject) | undefined;
  /** Take over fields from other managers. Only for children whose applied fields are all ours. Default false. */
  force?: boolean | undefined;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * A child that could not be applied or deleted; or the owner, when children that lost their labels could not be looked
 * for.
 */
export interface ApplyFailure {
  kind: string;
  /** `Kind namespace/name`. */
  object: string;
  error: unknown;
}

/** The result of one apply: what changed, and what failed. */
export interface ApplyOutcome {
  applied: string[];
  /** Those of the applied children that were deleted and recreated, because an immutable field differed. */
  recreated: string[];
  skipped: number;
  pruned: string[];
  /** Children that another manager changed or deleted, and what was restored. */
  repaired: (Drift & { object: string })[];
  conflicts: (FieldConflict & { object: string })[];
  failures: ApplyFailure[];
}

/**
 * Makes the children of one object exactly the wanted ones.
 *
 * Flow: compare each wanted child with the cache → apply those that differ → delete those that belong to the set and
 * are not wanted. Deletion comes last: a crash in between leaves too many children, never too few, and the next run
 * deletes the rest.
 * Guarantees: no request when nothing differs; a child that lost its labels gets them back, or is pruned if it is not
 * wanted (see lost-children.ts; each process looks once for children that lost their labels before it started); a
 * delete carries the uid as a precondition; a failure of one child does not stop the others; nothing is pruned after a
 * failed apply; with an owner, an object of a wanted name that has another owner is not taken over.
 * `force` also repairs what an apply cannot (see heal.ts): a child whose immutable fields differ is recreated, and a
 * list that an edit made invalid is replaced.
 * Caveats: this is server-side apply, so fields of other managers stay: a list item under another key (a further port
 * of a Service, a container) belongs to the manager that added it, as long as the object is valid with it.
 */
export class ApplySet {
  readonly #options: ApplySetOptions;
  readonly #byKind: Map<string, Informer>;
  readonly #deleted = new Set<string>();
  readonly #memory: DriftMemory;
  readonly #lost: LostChildren;
  readonly #recreations: Recreations;

  constructor(options: ApplySetOptions) {
    this.#options = options;
    this.#memory = new DriftMemory(options.fieldManager);
    this.#recreations = new Recreations(options.clock ?? systemClock);
    const { client, fieldManager: manager, children } = options;
    this.#lost = new LostChildren({ client, manager, children, deletedHere: (uid) => this.#deleted.has(uid) });
    this.#byKind = new Map(options.children.map((c) => [kindKey(c.source.resource), c]));
    // Without this index, each reconcile would scan the children of all owners to find those of its own.
    for (const child of options.children) child.addIndex(ownerIndex, controllerUids);
  }

  /**
   * Applies the request. Errors: a single failure as it is (a conflict is ERR_APPLY_CONFLICT), several failures as an
   * AggregateError.
   */
  async apply(request: ApplyRequest): Promise<ApplyOutcome> {
    const outcome = await this.tryApply(request);
    throwFailures(outcome);
    return outcome;
  }

  /**
   * Like `apply`, with failures in the outcome; for callers that first report them in a status. Errors: if the signal
   * aborts before the last child, throws the failures so far as `apply` does, or the signal's reason if nothing had
   * failed. An abort during the last child is one of the failures in the outcome.
   */
  async tryApply(request: ApplyRequest): Promise<ApplyOutcome> {
    const outcome: ApplyOutcome = {
      applied: [],
      recreated: [],
      skipped: 0,
      pruned: [],
      repaired: [],
      conflicts: [],
      failures: [],
    };
    try {
      await this.#run(request, outcome);
    } catch (error) {
      // What took the time is among the failures, and would be lost with the outcome.
      if (request.signal.aborted) throwFailures(outcome);
      throw error;
    } finally {
      this.#report(request, outcome);
    }
    return outcome;
  }

  async #run(request: ApplyRequest, outcome: ApplyOutcome): Promise<void> {
    const kept = new Set<string>();
    for (const child of request.wanted) {
      request.signal.throwIfAborted();
      const informer = this.#informer(child);
      const object = withOwner(child, request.owner);
      kept.add(childKey(informer.source.resource, object));
      try {
        await this.#applyOne(informer, object, request, outcome);
      } catch (error) {
        // Whatever the error, a write may have reached the server although its answer did not reach us.
        this.#lost.suspect(informer, object);
        const conflicts = fieldConflicts(error);
        const name = describe(informer.source.resource, keyOf(object));
        outcome.conflicts.push(...conflicts.map((c) => ({ ...c, object: name })));
        outcome.failures.push({ kind: object.kind, object: name, error });
      }
    }
    const { owner, belongs = () => true } = request;
    const uid = owner?.object.metadata.uid ?? '';
    const isOurs = (old: KubeObject): boolean =>
      request.belongs || !owner ? belongs(old) : controllerUids(old).includes(uid);
    this.#recreations.forgetIf((old, key) => !kept.has(key) && isOurs(old));
    if (outcome.failures.length === 0) await this.#prune(request, kept, outcome);
  }

  async #applyOne(
    informer: Informer,
    rendered: KubeObject,
    request: ApplyRequest,
    outcome: ApplyOutcome,
  ): Promise<void> {
    const { client, fieldManager } = this.#options;
    const { resource } = informer.source;
    const live = informer.get(keyOf(rendered));
    const key = childKey(resource, rendered);
    if (request.owner) requireSameNamespace(resource, rendered, request.owner);
    // A cache selected by our labels cannot tell whether the name is taken. A child that lost them is not deleted: what
    // others added to it stays.
    const known = this.#memory.knows(key);
    const mayBeHidden = known || ((request.adjust || request.owner) && !seesAll(informer));
    const before =
      live ??
      (mayBeHidden ? await getIfExists(client, resource, keyOf(rendered), { signal: request.signal }) : undefined);
    const object = request.adjust ? request.adjust(rendered, before) : rendered;
    if (live && !live.metadata.deletionTimestamp && ownsExactly(live, object, fieldManager)) {
      this.#memory.settled(key, object, live);
      this.#recreations.stored(object);
      outcome.skipped++;
      return;
    }
    if (request.owner && before) {
      refuseForeign(resource, before, request.owner);
      // Where the cache shows the child although it has a selector, the child has our labels.
      if (!live || seesAll(informer)) refuseUnknown(resource, before, request.owner, fieldManager);
    }
    const { signal } = request;
    const applied = await client
      .apply(resource, object, { fieldManager, force: request.force, signal })
      .catch(async (refusal: unknown) => {
        if (!request.force) throw refusal;
        const recreations = this.#recreations;
        const healed = await heal(object, refusal, { client, resource, fieldManager, signal, recreations });
        if (healed.recreated) outcome.recreated.push(describe(resource, keyOf(object)));
        return healed.object;
      });
    const written = await releaseUpdates(applied, { client, resource, fieldManager, signal });
    // A version that was there before the apply: nothing was written. The cache may lag behind our own last write.
    if (written.metadata.resourceVersion === before?.metadata.resourceVersion || this.#memory.saw(key, written)) {
      outcome.skipped++;
    } else {
      outcome.applied.push(describe(resource, keyOf(object)));
      // What others had under the name of a new child is not a change of the child.
      const ours = live ?? (before && (known || appliedBy(before, fieldManager)) ? before : undefined);
      const drift = this.#memory.judge(key, object, ours);
      if (drift) this.#tellDrift(drift, written, request, outcome);
    }
    this.#memory.settled(key, object, written);
    this.#recreations.stored(object);
    informer.wrote(written);
  }

  #tellDrift(drift: Drift, written: KubeObject, request: ApplyRequest, outcome: ApplyOutcome): void {
    const name = describe(this.#informer(written).source.resource, keyOf(written));
    outcome.repaired.push({ ...drift, object: name });
    if (this.#options.events) {
      announceDrift(this.#options.events, drift, { name, object: written }, request.owner?.object);
    }
  }

  async #prune(request: ApplyRequest, kept: ReadonlySet<string>, outcome: ApplyOutcome): Promise<void> {
    const ownerUid = request.owner?.object.metadata.uid;
    const belongs = request.belongs ?? (() => true);
    const present = (informer: Informer): KubeObject[] =>
      request.belongs || !request.owner ? informer.list() : informer.byIndex(ownerIndex, ownerUid ?? '');
    for (const informer of this.#options.children) {
      const { resource } = informer.source;
      for (const object of present(informer)) {
        if (kept.has(childKey(resource, object)) || object.metadata.deletionTimestamp || !belongs(object)) continue;
        // The cache may not have caught up with our own delete; a uid is never reused.
        if (!this.#deleted.has(object.metadata.uid ?? '')) await this.#delete(informer, object, request, outcome);
      }
    }
    for (const { trace, informer, object } of await this.#findLost(request, kept, outcome)) {
      if (await this.#delete(informer, object, request, outcome)) this.#lost.forget(trace);
    }
  }

  async #findLost(request: ApplyRequest, kept: ReadonlySet<string>, outcome: ApplyOutcome): Promise<LostChild[]> {
    const { owner, belongs, signal } = request;
    try {
      return await this.#lost.find({
        owner: owner?.object.metadata.uid,
        wanted: ({ source }, key) => kept.has(`${kindKey(source.resource)} ${keyText(key)}`),
        belongs,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      const { controller } = this.#options;
      const kind = owner?.resource.kind ?? controller;
      outcome.failures.push({
        kind,
        object: owner ? describe(owner.resource, keyOf(owner.object)) : controller,
        error,
      });
      return [];
    }
  }

  /** Whether the object is gone, or replaced by another one. A failure goes into the outcome. */
  async #delete(
    { source: { resource } }: Informer,
    object: KubeObject,
    request: ApplyRequest,
    outcome: ApplyOutcome,
  ): Promise<boolean> {
    const { uid = '' } = object.metadata;
    request.signal.throwIfAborted();
    try {
      await this.#options.client.delete(resource, keyOf(object), { uid, signal: request.signal });
      this.#remember(uid);
      this.#memory.forget(childKey(resource, object));
      outcome.pruned.push(describe(resource, keyOf(object)));
    } catch (error) {
      // Deleted already, or replaced by an object that the next event will bring.
      if (isNotFound(error) || isConflict(error)) return true;
      request.signal.throwIfAborted();
      outcome.failures.push({ kind: object.kind, object: describe(resource, keyOf(object)), error });
      return false;
    }
    return true;
  }

  #remember(uid: string): void {
    if (this.#deleted.size >= 1_000) this.#deleted.delete(this.#deleted.values().next().value!);
    this.#deleted.add(uid);
  }

  #informer(child: KubeObject): Informer {
    const informer = this.#byKind.get(`${child.apiVersion} ${child.kind}`);
    if (!informer) throw new Error(`apply set of ${this.#options.controller} has no informer for ${child.kind}`);
    return informer;
  }

  #report(request: ApplyRequest, outcome: ApplyOutcome): void {
    const { controller, metrics } = this.#options;
    metrics?.applies.inc({ controller, operation: 'applied' }, outcome.applied.length);
    metrics?.applies.inc({ controller, operation: 'recreated' }, outcome.recreated.length);
    metrics?.applies.inc({ controller, operation: 'skipped' }, outcome.skipped);
    metrics?.applies.inc({ controller, operation: 'pruned' }, outcome.pruned.length);
    if (outcome.applied.length > 0) request.logger.info('applied', { objects: outcome.applied });
    if (outcome.recreated.length > 0) request.logger.warn('recreated', { objects: outcome.recreated });
    if (outcome.pruned.length > 0) request.logger.info('pruned', { objects: outcome.pruned });
    if (outcome.repaired.length > 0) request.logger.warn('undid changes of others', { repaired: outcome.repaired });
  }
}

/** Whether a cache has no selector, and so shows each object of its kind, whatever its labels. */
const seesAll = ({ source }: Informer): boolean =>
  source.labelSelector === undefined && source.fieldSelector === undefined;

/** Throws the failures of an outcome, conflicts last: one as it is, several as an AggregateError. */
export function throwFailures({ failures }: ApplyOutcome): void {
  const errors = failures.map(({ error }) => error);
  const isConflict = (error: unknown): boolean => fieldConflicts(error).length > 0;
  throwAll([...errors.filter((error) => !isConflict(error)), ...errors.filter(isConflict)]);
}

/** One sentence about conflicts for a condition: which manager owns which field. */
export function conflictText(error: unknown): string {
  if (error instanceof AggregateError) return joined(eachError(error).map(conflictText));
  const conflicts = fieldConflicts(error);
  if (conflicts.length === 0) return errorText(error);
  const shown = conflicts.slice(0, 5).map((c) => `${c.field} is held by ${c.manager}`);
  return `${shown.join('; ')}${conflicts.length > 5 ? `; and ${conflicts.length - 5} more` : ''}`;
}

/**
 * The child with its owner, and without empty maps: an empty map owns nothing, but would differ from a map with entries
 * of other managers.
 */
function withOwner(child: KubeObject, owner: ApplyRequest['owner']): KubeObject {
  const entries = Object.entries(child.metadata).filter(
    ([, value]) => typeof value !== 'object' || Object.keys(value as object).length > 0,
  );
  const metadata = Object.fromEntries(entries);
  if (owner) metadata['ownerReferences'] = [controllerReference(owner.object, owner.resource)];
  return { ...child, metadata };
}

const ownerIndex = 'controller uid';

function kindKey(resource: ResourceRef): string {
  return `${resource.apiVersion} ${resource.kind}`;
}

function childKey(resource: ResourceRef, object: KubeObject): string {
  return `${kindKey(resource)} ${keyText(keyOf(object))}`;
}
