import { randomUUID } from 'node:crypto';
import { someMeta, type KubeObject, type ManagedFieldsEntry, type ResourceRef } from '../../api/meta.ts';
import {
  changedFields,
  difference,
  fieldSet,
  leafPaths,
  mergeApplied,
  removeFields,
  type FieldSet,
} from './field-sets.ts';
import { countsAnnotations, hasGeneration } from './kinds.ts';
import { conflict, notFound, StatusError } from './status-error.ts';

/** One change, as watches report it. */
export interface StoredEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubeObject;
  /** The object before the change. If a selector matches only one of both states, a watch sees ADDED or DELETED. */
  old: KubeObject | undefined;
  version: number;
  resource: ResourceRef;
}

/** The field manager of a write, and the part of the object that it writes. */
export interface WriteMeta {
  manager?: string;
  force?: boolean;
  subresource?: string | undefined;
}

/** Objects of all resources, one version counter, and the history from which watches resume. */
export class Storage {
  readonly history: StoredEvent[] = [];
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  readonly #now: () => number;
  #version = 100;
  /** A watch cannot resume from a version below this one. */
  compactedTo = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get version(): number {
    return this.#version;
  }

  onEvent(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A throw-away copy for dry runs: the same objects and version, without history and listeners. */
  copy(): Storage {
    const copy = new Storage(this.#now);
    for (const [key, object] of this.#objects) copy.#objects.set(key, structuredClone(object));
    copy.#version = this.#version;
    return copy;
  }

  /** Forgets the history: a watch that resumes from an earlier version is answered with 410. */
  compact(): void {
    this.#version++;
    this.compactedTo = this.#version;
    this.history.length = 0;
  }

  list(resource: ResourceRef): KubeObject[] {
    const prefix = `${resource.plural}.${resource.group}/`;
    return [...this.#objects].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object);
  }

  find(resource: ResourceRef, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(storageKey(resource, namespace, name));
  }

  get(resource: ResourceRef, namespace: string | undefined, name: string): KubeObject {
    const found = this.find(resource, namespace, name);
    if (!found) throw notFound(`${resource.plural} "${name}"`);
    return found;
  }

  create(resource: ResourceRef, object: KubeObject, meta: WriteMeta = {}): KubeObject {
    const name = object.metadata.name ?? `${object.metadata.generateName}${randomUUID().slice(0, 5)}`;
    if (this.find(resource, object.metadata.namespace, name)) {
      throw new StatusError(409, 'AlreadyExists', `${resource.plural} "${name}" already exists`);
    }
    const created: KubeObject = structuredClone(object);
    created.apiVersion = resource.apiVersion;
    created.kind = resource.kind;
    created.metadata = {
      ...created.metadata,
      name,
      uid: randomUUID(),
      ...(hasGeneration(resource) ? { generation: 1 } : {}),
      creationTimestamp: this.#time(),
    };
    if (meta.manager) this.#own(undefined, created, meta);
    return this.#store(resource, 'ADDED', created, undefined);
  }

  /** Replaces an object with the result of a PUT or a patch. */
  update(resource: ResourceRef, next: KubeObject, meta: WriteMeta = {}): KubeObject {
    const { name = '', namespace } = next.metadata;
    const old = this.get(resource, namespace, name);
    const expected = next.metadata.resourceVersion;
    if (expected !== undefined && expected !== old.metadata.resourceVersion)
      throw conflict(`${resource.plural} "${name}"`);
    if (next.metadata.uid !== undefined && next.metadata.uid !== old.metadata.uid)
      throw conflict(`${resource.plural} "${name}"`);
    const object = this.#confine(old, structuredClone(next), meta.subresource);
    if (meta.manager) this.#own(old, object, meta);
    return this.#replace(resource, object, old);
  }

  /** Server-side apply. */
  apply(resource: ResourceRef, wanted: KubeObject, meta: WriteMeta & { manager: string }): KubeObject {
    const { name = '', namespace } = wanted.metadata;
    const old = this.find(resource, namespace, name);
    if (!old && meta.subresource) throw notFound(`${resource.plural} "${name}"`);
    if (wanted.metadata.uid !== undefined && wanted.metadata.uid !== old?.metadata.uid) {
      throw conflict(`${resource.plural} "${name}"`);
    }
    const claim = claimOf(wanted);
    const claimed = fieldSet(claim);
    const entries = old?.metadata.managedFields ?? [];
    const isOurs = (e: ManagedFieldsEntry): boolean =>
      e.manager === meta.manager && e.operation === 'Apply' && e.subresource === meta.subresource;
    const merged = mergeApplied(old ?? {}, claim) as KubeObject;
    const others = entries.filter((e) => !isOurs(e));
    const lost = others.map((e) => changedFields(old, merged, e.fieldsV1 as FieldSet));
    if (!meta.force) refuseConflicts(others, lost);
    const remaining = others
      .map((e, i) => ({ ...e, fieldsV1: difference(e.fieldsV1 as FieldSet, lost[i]!) }))
      .filter((e) => Object.keys(e.fieldsV1).length > 0);
    const mine = entries.find(isOurs);
    const gone = mine ? difference(mine.fieldsV1 as FieldSet, claimed) : {};
    const sets = [...remaining.map((e) => e.fieldsV1), claimed];
    const object = removeFields(merged, gone, sets) as KubeObject;
    object.apiVersion = resource.apiVersion;
    object.kind = resource.kind;
    object.metadata = { ...object.metadata, name, ...(namespace ? { namespace } : {}) };
    const { apiVersion } = resource;
    const { manager, subresource } = meta;
    const entry: ManagedFieldsEntry = {
      manager,
      operation: 'Apply',
      apiVersion,
      time: mine?.time ?? this.#time(),
      fieldsType: 'FieldsV1',
      fieldsV1: claimed,
      ...(subresource ? { subresource } : {}),
    };
    object.metadata.managedFields = [...remaining, entry];
    if (!old) return this.create(resource, object);
    const next = this.#confine(old, object, subresource);
    if (stable(next) !== stable(old)) entry.time = this.#time();
    return this.#replace(resource, next, old);
  }

  /** Deletes the object or, while it has finalizers, sets its deletionTimestamp. */
  remove(
    resource: ResourceRef,
    namespace: string | undefined,
    name: string,
    preconditions: { uid?: string; resourceVersion?: string } = {},
  ): KubeObject {
    const old = this.get(resource, namespace, name);
    const { uid, resourceVersion } = preconditions;
    if (uid !== undefined && uid !== old.metadata.uid) throw conflict(`${resource.plural} "${name}"`);
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw conflict(`${resource.plural} "${name}"`);
    }
    if ((old.metadata.finalizers ?? []).length === 0) return this.#drop(resource, structuredClone(old));
    if (old.metadata.deletionTimestamp) return old;
    const deletionTimestamp = this.#time();
    const metadata = { ...old.metadata, ...nextGeneration(old), deletionTimestamp };
    return this.#store(resource, 'MODIFIED', { ...old, metadata }, old);
  }

  /** Restores what a write may not change: identity and, depending on the subresource, status or all but status. */
  #confine(old: KubeObject, next: KubeObject, subresource: string | undefined): KubeObject {
    const keep = someMeta(old.metadata, 'uid', 'creationTimestamp', 'generation', 'deletionTimestamp');
    if (subresource === 'status') {
      const { managedFields } = next.metadata;
      const metadata = { ...old.metadata, ...(managedFields ? { managedFields } : {}) };
      return { ...structuredClone(old), metadata, status: next['status'] };
    }
    const object: KubeObject = { ...next, metadata: { ...next.metadata, ...keep } };
    if (old['status'] === undefined) delete object['status'];
    else object['status'] = old['status'];
    return object;
  }

  /** Makes the manager of a non-apply write the owner of the fields that it changed; other managers lose these. */
  #own(old: KubeObject | undefined, object: KubeObject, meta: WriteMeta): void {
    // A writer may also change managedFields itself, as any other field.
    const before = (old && object.metadata.managedFields) ?? old?.metadata.managedFields ?? [];
    const rest = before
      .map((e) => ({
        ...e,
        fieldsV1: difference(e.fieldsV1 as FieldSet, changedFields(old, object, e.fieldsV1 as FieldSet)),
      }))
      .filter((e) => Object.keys(e.fieldsV1).length > 0);
    const all = fieldSet(claimOf(object));
    const changed = old ? changedFields(old, object, all) : all;
    const entry = {
      manager: meta.manager!,
      operation: 'Update' as const,
      apiVersion: object.apiVersion,
      time: this.#time(),
      fieldsV1: changed,
    };
    const own =
      Object.keys(changed).length > 0 ? [meta.subresource ? { ...entry, subresource: meta.subresource } : entry] : [];
    object.metadata.managedFields = [...rest, ...own];
  }

  /** Stores the next state; an object with a deletionTimestamp is removed once it has no finalizers left. */
  #replace(resource: ResourceRef, object: KubeObject, old: KubeObject): KubeObject {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp && finalizers.length === 0) return this.#drop(resource, object);
    return this.#store(resource, 'MODIFIED', object, old);
  }

  #drop(resource: ResourceRef, object: KubeObject): KubeObject {
    const { namespace, name = '' } = object.metadata;
    const old = this.get(resource, namespace, name);
    this.#objects.delete(storageKey(resource, namespace, name));
    return this.#emit(resource, 'DELETED', object, old);
  }

  #store(
    resource: ResourceRef,
    type: 'ADDED' | 'MODIFIED',
    object: KubeObject,
    old: KubeObject | undefined,
  ): KubeObject {
    if (old) {
      // A write that changes nothing keeps the resourceVersion and causes no event.
      object.metadata = { ...object.metadata, resourceVersion: old.metadata.resourceVersion! };
      if (stable(object) === stable(old)) return old;
      const counted = ({ metadata: { annotations = {} }, ...rest }: KubeObject): string =>
        stable({ ...rest, status: undefined, ...(countsAnnotations(resource) ? { annotations } : {}) });
      if (counted(object) !== counted(old)) Object.assign(object.metadata, nextGeneration(old));
    }
    const stored = this.#emit(resource, type, object, old);
    this.#objects.set(storageKey(resource, stored.metadata.namespace, stored.metadata.name!), stored);
    return stored;
  }

  /** The server's time as it stands in metadata: in whole seconds. */
  #time(): string {
    return `${new Date(this.#now()).toISOString().slice(0, 19)}Z`;
  }

  #emit(resource: ResourceRef, type: StoredEvent['type'], object: KubeObject, old: KubeObject | undefined): KubeObject {
    this.#version++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    const event: StoredEvent = { type, object: stored, old, version: this.#version, resource };
    this.history.push(event);
    for (const listener of this.#listeners) listener(event);
    return stored;
  }
}

/** The generation after a change of `old`; nothing for a kind that has none. */
function nextGeneration({ metadata: { generation } }: KubeObject): { generation?: number } {
  return generation === undefined ? {} : { generation: generation + 1 };
}

function refuseConflicts(others: readonly ManagedFieldsEntry[], lost: readonly FieldSet[]): void {
  const causes = others.flatMap((e, i) =>
    leafPaths(lost[i]!).map((field) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with "${e.manager}" using ${e.apiVersion}`,
      field,
    })),
  );
  if (causes.length === 0) return;
  const text = causes.map((c) => `${c.message}: ${c.field}`).join(', ');
  throw new StatusError(409, 'Conflict', `Apply failed with ${causes.length} conflicts: ${text}`, { causes });
}

/**
 * The fields that an object claims: all but apiVersion, kind and metadata, and of metadata the labels, annotations,
 * ownerReferences and finalizers.
 */
function claimOf(object: KubeObject): Record<string, unknown> {
  const { apiVersion: _a, kind: _k, metadata, ...rest } = object;
  const { labels, annotations, ownerReferences, finalizers } = metadata;
  const meta = { labels, annotations, ownerReferences, finalizers };
  const claimed = Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined));
  return Object.keys(claimed).length > 0 ? { ...rest, metadata: claimed } : rest;
}

function storageKey(resource: ResourceRef, namespace: string | undefined, name: string): string {
  return `${resource.plural}.${resource.group}/${resource.namespaced ? (namespace ?? '') : ''}/${name}`;
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) =>
    typeof v === 'object' && v !== null && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );
}
