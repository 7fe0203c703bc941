import type { KubeObject, ResourceRef } from '../api/meta.ts';
import type { WatchFrame } from './frames.ts';

/** Any object; typed kinds fit it without an index signature. */
export type TypedObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

/** Names one object of a resource. `namespace` is required exactly for namespaced resources. */
export interface ObjectName {
  namespace?: string | undefined;
  name: string;
}

/** Options of every call. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Deadline of the call with its retries. Units: ms. Default 30 s. */
  deadlineMs?: number | undefined;
  /** False returns 429 and lost connections to the caller immediately. Default true. */
  retry?: boolean | undefined;
}

/** Options for reading one object, or a list. */
export interface ReadOptions extends RequestOptions {
  /** Request only `PartialObjectMetadata`, for kinds whose spec and status are not read. */
  metadataOnly?: boolean | undefined;
  resourceVersion?: string | undefined;
}

/** Selects objects of a resource. Default: all, of every namespace. */
export interface SelectorOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** Which objects are listed, and how they are paged. */
export interface ListOptions extends ReadOptions, SelectorOptions {
  /** Objects per page. Undefined requests all in one page. */
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

/** Which events a watch delivers, and from which version. */
export interface WatchOptions extends SelectorOptions {
  signal: AbortSignal;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: 'NotOlderThan' | undefined;
  /** The server ends the stream after this long. Units: seconds. */
  timeoutSeconds?: number | undefined;
  /** Stream the initial list too; it ends with an annotated bookmark (KEP-3157). */
  sendInitialEvents?: boolean | undefined;
  metadataOnly?: boolean | undefined;
  /** Deadline of the answer's headers. Units: ms. Default 30 s. */
  headersMs?: number | undefined;
}

/** One page of a list, with the version that a watch continues from. */
export interface KubeList<T extends TypedObject = KubeObject> {
  /** Each item has its `apiVersion` and `kind`; the client fills them in where the server leaves them out. */
  items: T[];
  resourceVersion: string;
  /** Token of the next page; undefined on the last. */
  continue?: string | undefined;
}

/** Which part of a container's log to read. */
export interface PodLogQuery {
  container: string;
  /** The previous container instead of the running one. */
  previous?: boolean | undefined;
  /** Lines from the end. */
  tailLines?: number | undefined;
  /** Only lines that are not older than this. Units: seconds. */
  sinceSeconds?: number | undefined;
  /** Units: bytes. */
  limitBytes?: number | undefined;
}

/** Options for creating, updating or patching an object. */
export interface WriteOptions extends RequestOptions {
  fieldManager?: string | undefined;
  dryRun?: boolean | undefined;
  subresource?: 'status' | 'scale' | undefined;
}

/** Options for applying an object; the field manager owns the fields that the object sets. */
export interface ApplyOptions extends RequestOptions {
  /** `svc-controller/<controller>`: one manager per controller. */
  fieldManager: string;
  /** Take fields over from other managers. Only for fields that this manager alone may own. Default false. */
  force?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/** The three patch formats that state the changes; apply has its own method. */
export type Patch =
  | { type: 'json'; operations: readonly JsonPatchOperation[] }
  | { type: 'merge'; body: unknown }
  | { type: 'strategic'; body: unknown };

/** RFC 6902. A `test` first makes the patch conditional: it fails with 422 when the value differs. */
export type JsonPatchOperation =
  { op: 'add' | 'replace' | 'test'; path: string; value: unknown } | { op: 'remove'; path: string };

/** Options and preconditions of a delete. */
export interface DeleteOptions extends RequestOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  /** Delete exactly this object, not one that has taken its name since. */
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  gracePeriodSeconds?: number | undefined;
  dryRun?: boolean | undefined;
}

/**
 * The interface to the API server: plain objects in and out, any resource.
 *
 * Guarantees: every call has a deadline and a size cap; a 429 is retried after its Retry-After, within the deadline; a
 * rotated token is read again after a 401; writes request `fieldValidation=Strict`.
 * Caveats: objects are not validated here; a write is never repeated after a lost connection, because it may have
 * been executed.
 * Errors: `ApiError` for every answer that is not a success (predicates in errors.ts); ERR_TIMEOUT, ERR_ABORTED,
 * ERR_TOO_LARGE; ERR_API_REQUEST when no answer came.
 */
export interface KubeClient {
  /** Base URL of the API server, for messages. */
  readonly server: string;

  get<T extends TypedObject = KubeObject>(resource: ResourceRef, name: ObjectName, options?: ReadOptions): Promise<T>;
  /** Reads one page of a list. */
  list<T extends TypedObject = KubeObject>(resource: ResourceRef, options?: ListOptions): Promise<KubeList<T>>;
  /**
   * Raw frames until the server or the signal ends the stream; a clean end simply finishes the iteration. Nothing is
   * retried and silence is not detected: the reflector does both.
   * Errors: those of every call, and ERR_WATCH_BROKEN for a cut or unreadable stream.
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
