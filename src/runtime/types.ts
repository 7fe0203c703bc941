import type { Registry } from 'prom-client';
import type { KubeObject, ResourceRef } from '../api/meta.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectName, TypedObject } from '../kube/index.ts';
import type { RuntimeMetrics } from './metrics.ts';

/** The subject of a reconcile: one object by name. Never an event: a reconcile reads the current state. */
export type ObjectKey = ObjectName;

/** One list-and-watch of the API server. Equal sources share one stream, whatever the number of controllers. */
export interface Source {
  resource: ResourceRef;
  /** Default: all namespaces. */
  namespace?: string | undefined;
  /** Server-side label selector, such as `app.kubernetes.io/managed-by=shop-operator`. */
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /**
   * The kind belongs to another product and may come and go. While the server does not know it, the source is empty and
   * healthy. Once the kind appears, the source fills within fifteen seconds, or as soon as we write an object of it.
   */
  optional?: boolean | undefined;
  /** Fetch `metadata` only, for kinds whose spec and status are not read. */
  metadataOnly?: boolean | undefined;
  /**
   * `apply` strips the fields that nothing reads before an object is cached; it may change its argument. Sources are
   * compared by the `name` of their transform: two transforms under one name on one resource are a programming error.
   */
  transform?: { name: string; apply(object: KubeObject): KubeObject } | undefined;
}

/** A change of an object of a source. `object` is shared with the cache: never change it. */
export interface SourceEvent<T extends TypedObject = TypedObject> {
  type: 'added' | 'updated' | 'deleted';
  object: T;
  /** The previous state, for `updated` and `deleted`. For `deleted`, `object` is the last known state. */
  old?: T | undefined;
  /** Part of the first list: start-up work, not a change. */
  initial: boolean;
  /** Found only by a later list: the watch missed it. */
  missed: boolean;
}

/** Read access to the cache of a source. Objects are shared: treat them as frozen (in tests they are). */
export interface Informer<T extends TypedObject = KubeObject> {
  readonly source: Source;
  /** True once a list succeeded and every listener saw it. */
  readonly synced: boolean;
  get(key: ObjectKey): T | undefined;
  /** All objects, or those of one namespace; in no particular order. */
  list(options?: { namespace?: string | undefined }): T[];
  /**
   * Defines an index: `values` names the index entries of one object, and must be pure. An object on which it throws is
   * left out of the index; this is logged once for each object, or more often where more than 1,000 objects fail. Call
   * it before the manager starts; defining the same name again is harmless.
   */
  addIndex(name: string, values: (object: T) => readonly string[]): void;
  /** The objects with this value in the index. Errors: throws on an unknown index. */
  byIndex(name: string, value: string): T[];
  /**
   * Calls back on each change, in order; the returned function unsubscribes. A listener must be quick and must not
   * throw.
   */
  onEvent(listener: (event: SourceEvent<T>) => void): () => void;
  /**
   * Read-your-writes: the cache shows `object`, the answer to a write of ours, until the watch delivers that write.
   */
  wrote(object: T): void;
}

/** Returns the shared informer of a source. Request every informer before the manager starts. */
export interface Cache {
  informer<T extends TypedObject = KubeObject>(source: Source): Informer<T>;
}

/**
 * Decides whether an event causes a reconcile. Must be pure. (A method type, so that a predicate of one kind is
 * assignable where a predicate of any kind is expected.)
 */
export type Predicate<T extends TypedObject = TypedObject> = { test(event: SourceEvent<T>): boolean }['test'];

/**
 * Returns the keys to enqueue for a state of another object. If it throws, it is asked again later: for an existing
 * object with its newest state until that succeeds, for a deleted object or a former state for half an hour. At most
 * eight former states of an object wait for that; a further one is dropped, which the log says with `retry: false`.
 */
export type Mapper<T extends TypedObject = TypedObject> = { map(object: T): readonly ObjectKey[] }['map'];

/** A source other than the primary kind and its children, with its own mapping to keys. */
export interface Watch {
  source: Source;
  map: Mapper;
  predicates?: readonly Predicate[] | undefined;
}

/** The arguments of a reconcile. Everything it needs from outside is here or in the closure that created it. */
export interface ReconcileContext {
  key: ObjectKey;
  /** Adds the fields controller, object, namespace, name and reconcileID to each line. */
  logger: Logger;
  /** Aborts when the time limit passes, when the lease is lost, or when the drain time of a shutdown is over. */
  signal: AbortSignal;
  clock: Clock;
  client: KubeClient;
  cache: Cache;
  /** Failures of this key in a row before this run, from 0. */
  attempt: number;
}

/**
 * The end of a successful reconcile: nothing (wait for the next event), or run again after a delay, in ms. A delay that
 * is NaN makes the reconcile a failure.
 * To fail, throw: the key is retried with backoff. `TerminalError` waits for the next event instead;
 * `RequeueError` runs again after its own delay without counting as a failure.
 */
export type ReconcileResult = { requeueAfterMs?: number | undefined } | undefined | void;

/** The sources that a controller watches, and how it reconciles a key. */
export interface ControllerSpec {
  /** Unique; the `controller` label of metrics and logs, and the tail of the field manager. */
  name: string;
  /** The primary kind: every event of an object enqueues the object itself. */
  for?: { source: Source; predicates?: readonly Predicate[] | undefined } | undefined;
  /** Children: events enqueue the controlling owner (of the primary kind) that `ownerReferences` names. */
  owns?: readonly { source: Source; predicates?: readonly Predicate[] | undefined }[] | undefined;
  /** Any other source, with its own mapping to keys. */
  watches?: readonly Watch[] | undefined;
  /** Keys to run once at start, for singletons without an object. */
  initialKeys?: readonly ObjectKey[] | undefined;
  /** Must be idempotent. A call gets one key; two calls for the same key never overlap. */
  reconcile(context: ReconcileContext): Promise<ReconcileResult>;
  /** Keys worked on at the same time. Default 1. */
  concurrency?: number | undefined;
  /** Time limit of one run: after it, the signal aborts and the run counts as failed. Units: ms. Default 120 s. */
  timeoutMs?: number | undefined;
}

/** The handle of an added controller. */
export interface ControllerHandle {
  readonly name: string;
  /** `<component>/<name>`: each controller is a field manager of its own. */
  readonly fieldManager: string;
  /** Enqueues a key from outside the watches (timers, acknowledgements of agents, …). */
  trigger(key: ObjectKey, options?: { afterMs?: number | undefined }): void;
}

/** Work other than a controller that the manager starts and stops. */
export interface Runnable {
  name: string;
  /** True: only while this process leads. False: on every replica, from the moment caches are synced. */
  needsLeader: boolean;
  /**
   * True: on every replica, before the caches are synced. A conversion webhook needs it: the API server calls the
   * webhook to convert the objects of the lists that fill the caches. Default false.
   */
  beforeCaches?: boolean | undefined;
  /** Runs until the signal aborts. Ending earlier is allowed; a rejection stops the whole process. */
  run(signal: AbortSignal): Promise<void>;
}

/** An occurrence in the life of an object that people should see in `kubectl describe`. */
export interface EventDetails {
  type: 'Normal' | 'Warning';
  /** CamelCase constant. */
  reason: string;
  /** One sentence; cut at 1,024 bytes. */
  message: string;
  /** The action in progress, CamelCase. Default `Reconcile`. */
  action?: string | undefined;
}

/** Writes Kubernetes Events: aggregated, bounded, in the background. Never blocks and never throws. */
export interface EventRecorder {
  record(regarding: TypedObject, event: EventDetails): void;
}

/** The environment that a controller is built from. The manager is one. */
export interface ControllerEnvironment {
  readonly client: KubeClient;
  readonly cache: Cache;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Self-metrics; register your own with the program's prefix. */
  readonly registry: Registry;
  /** The runtime's own metrics, for parts that count on its behalf (apply sets). */
  readonly metrics?: RuntimeMetrics | undefined;
  addController(spec: ControllerSpec): ControllerHandle;
  addRunnable(runnable: Runnable): void;
  /**
   * A named check of `/readyz` (and, with `live`, of `/livez`): resolves when healthy, throws with the reason
   * otherwise.
   */
  addCheck(name: string, check: () => void | Promise<void>, options?: { live?: boolean }): void;
}
