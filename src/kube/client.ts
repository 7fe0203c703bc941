import type { KubeObject, ResourceRef } from '../api/meta.ts';
import type { WatchFrame } from './frames.ts';

/** Any object; typed kinds fit it without an index signature. */
export type TypedObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

/** Names one object of a resource. `namespace` is required exactly for namespaced resources. */
export interface ObjectName {
  namespace?: string | undefined;
  name: string;
}

/** What every call takes. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Bound on the call with its retries. Units: ms. Default 30 s. */
  deadlineMs?: number | undefined;
  /** False hands 429 and lost connections to the caller at once. Default true. */
  retry?: boolean | undefined;
}

/** How one object, or a list, is read. */
export interface ReadOptions extends RequestOptions {
  /** Ask for `PartialObjectMetadata` only: for kinds whose spec and status are not read. */
  metadataOnly?: boolean | undefined;
  resourceVersion?: string | undefined;
}

/** Which objects of a resource are meant. Default: all, of every namespace. */
export interface SelectorOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** Which objects are listed, and how they are paged. */
export interface ListOptions extends ReadOptions, SelectorOptions {
  /** Objects a page. Undefined asks for all at once. */
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

/** What a watch delivers, and from where. */
export interface WatchOptions extends SelectorOptions {
  signal: AbortSignal;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: 'NotOlderThan' | undefined;
  /** The server ends the stream after this long. Units: seconds. */
  timeoutSeconds?: number | undefined;
  /** Stream the initial list too; it ends with an annotated bookmark (KEP-3157). */
  sendInitialEvents?: boolean | undefined;
  metadataOnly?: boolean | undefined;
  /** How long the answer's headers may take. Units: ms. Default 30 s. */
  headersMs?: number | undefined;
}

/** One page of a list, with the version that a watch goes on from. */
export interface KubeList<T extends TypedObject = KubeObject> {
  /** `apiVersion` and `kind` are filled in on each item, also where the server leaves them out. */
  items: T[];
  resourceVersion: string;
  /** Token of the next page; undefined on the last. */
  continue?: string | undefined;
}

/** What to read of a container's log. */
export interface PodLogQuery {
  container: string;
  /** The container before the one that runs. */
  previous?: boolean | undefined;
  /** Lines from the end. */
  tailLines?: number | undefined;
  /** Nothing older. Units: seconds. */
  sinceSeconds?: number | undefined;
  /** Units: bytes. */
  limitBytes?: number | undefined;
}

/** How an object is created, updated or patched. */
export interface WriteOptions extends RequestOptions {
  fieldManager?: string | undefined;
  dryRun?: boolean | undefined;
  subresource?: 'status' | 'scale' | undefined;
}

/** How an object is applied; the field manager owns what the object sets. */
export interface ApplyOptions extends RequestOptions {
  /** `svc-controller/<controller>`: one manager per controller. */
  fieldManager: string;
  /** Take fields over from other managers. Only for fields that this manager alone may own. Default false. */
  force?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/** The three patch formats that name what changes; apply has its own method. */
export type Patch =
  | { type: 'json'; operations: readonly JsonPatchOperation[] }
  | { type: 'merge'; body: unknown }
  | { type: 'strategic'; body: unknown };

/** RFC 6902. A `test` first makes the patch conditional: it fails with 422 when the value differs. */
export type JsonPatchOperation =
  { op: 'add' | 'replace' | 'test'; path: string; value: unknown } | { op: 'remove'; path: string };

/** How an object is deleted, and under which conditions. */
export interface DeleteOptions extends RequestOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  /** Delete this very object, not one that took its name since. */
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  gracePeriodSeconds?: number | undefined;
  dryRun?: boolean | undefined;
}

/**
 * The port to the API server: plain objects in and out, any resource.
 *
 * Guarantees: every call has a deadline and a size cap; a 429 is waited out (its Retry-After) within the deadline;
 * a token that was rotated is read again after a 401; writes ask for `fieldValidation=Strict`.
 * Caveats: objects are not validated here; a write is never repeated after a lost connection, because it may have
 * been executed.
 * Errors: `ApiError` for every answer that is not a success (predicates in errors.ts); ERR_TIMEOUT, ERR_ABORTED,
 * ERR_TOO_LARGE; ERR_API_REQUEST where no answer came.
 */
export interface KubeClient {
  /** Base URL of the API server, for messages. */
  readonly server: string;

  get<T extends TypedObject = KubeObject>(resource: ResourceRef, name: ObjectName, options?: ReadOptions): Promise<T>;
  /** One page. */
  list<T extends TypedObject = KubeObject>(resource: ResourceRef, options?: ListOptions): Promise<KubeList<T>>;
  /**
   * Raw frames until the server or the signal ends the stream; a clean end simply finishes the iteration.
   * Nothing is retried and silence is not noticed: that is the reflector's work.
   * Errors: as above, and ERR_WATCH_BROKEN for a cut or unreadable stream.
   */
  watch(resource: ResourceRef, options: WatchOptions): AsyncIterable<WatchFrame>;

  create<T extends TypedObject = KubeObject>(resource: ResourceRef, object: T, options?: WriteOptions): Promise<T>;
  /** PUT. With `metadata.resourceVersion` set it fails with 409 when the object changed since. */
  update<T extends TypedObject = KubeObject>(resource: ResourceRef, object: T, options?: WriteOptions): Promise<T>;
  /** Server-side apply of exactly the fields in `object`. Errors: ERR_APPLY_CONFLICT names the other manager. */
  apply<T extends TypedObject = KubeObject>(resource: ResourceRef, object: T, options: ApplyOptions): Promise<T>;
  /** Server-side apply on the status subresource. */
  applyStatus<T extends TypedObject = KubeObject>(resource: ResourceRef, object: T, options: ApplyOptions): Promise<T>;
  patch<T extends TypedObject = KubeObject>(
    resource: ResourceRef,
    name: ObjectName,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T>;
  delete(resource: ResourceRef, name: ObjectName, options?: DeleteOptions): Promise<void>;

  /** A GET of a path outside the resources, such as `/version`; the parsed JSON. */
  getPath(path: string, options?: RequestOptions): Promise<unknown>;
  /** Cuts every connection. */
  close(): Promise<void>;
}
