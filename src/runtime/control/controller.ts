import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { eachError, errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { sourceStack } from '../../base/source-stack.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import type { KubeClient } from '../../kube/index.ts';
import { retryAfterMs } from '../../kube/index.ts';
import { keyText, parseKey } from '../keys.ts';
import { EventMapping } from './event-mapping.ts';
import { toOwner, toSelf } from './mappers.ts';
import type { ReconcileOutcome, RuntimeMetrics } from '../metrics.ts';
import { checkDelay, RequeueError, TerminalError } from './result.ts';
import type { RunTracer } from '../tracing.ts';
import type {
  Cache,
  ControllerHandle,
  ControllerSpec,
  Mapper,
  ObjectKey,
  Predicate,
  ReconcileContext,
  ReconcileResult,
  Source,
} from '../types.ts';
import { lowPriority, WorkQueue, type WorkItem } from './work-queue.ts';

export interface ControllerDeps {
  client: KubeClient;
  cache: Cache;
  clock: Clock;
  logger: Logger;
  metrics: RuntimeMetrics;
  /** Name of the program: first part of the field manager. */
  component: string;
  tracer?: RunTracer | undefined;
}

const defaultTimeoutMs = 120_000;

/**
 * One controller: events → keys → reconciles.
 *
 * Flow: `start` subscribes to the informers and starts the workers; each worker takes a key, runs `reconcile` under a
 * time limit and acts on its result; `drain` stops taking keys and waits for the running ones.
 * Guarantees: one run per key at a time; nothing that a reconcile, predicate or mapper throws is lost or fatal: it is
 * counted, logged and retried (events: see event-mapping.ts); an error takes precedence over `requeueAfterMs`.
 * Caveats: a reconcile that ignores its signal keeps its worker beyond the time limit, because a second run of its key
 * at the same time would be worse.
 */
export class Controller implements ControllerHandle {
  readonly name: string;
  readonly fieldManager: string;
  readonly queue: WorkQueue;
  readonly #spec: ControllerSpec;
  readonly #deps: ControllerDeps;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  #workers: Promise<void>[] = [];

  constructor(spec: ControllerSpec, deps: ControllerDeps) {
    this.name = spec.name;
    this.fieldManager = `${deps.component}/${spec.name}`;
    this.#spec = spec;
    this.#deps = deps;
    this.#logger = deps.logger.with({ controller: spec.name });
    this.queue = new WorkQueue(spec.name, deps.clock, deps.metrics);
    const watches = this.#watches();
    const kinds = watches.map(({ by }) => by);
    deps.metrics.declareController(spec.name, spec.concurrency ?? 1, kinds);
    // Sources must be registered before the caches start.
    for (const { source } of watches) deps.cache.informer(source);
  }

  trigger(key: ObjectKey, options: { afterMs?: number | undefined } = {}): void {
    this.#count('trigger', 'external');
    this.queue.add(keyText(key), { afterMs: options.afterMs, reason: 'trigger' });
  }

  /** Starts the work. Call it once, when the caches are synced and this process leads. */
  start(): void {
    for (const watch of this.#watches()) {
      const informer = this.#deps.cache.informer(watch.source);
      const mapping = this.#mapping(watch);
      const unsubscribe = informer.onEvent((event) => mapping.take(event));
      this.#unsubscribe.push(unsubscribe, () => mapping.stop());
    }
    for (const key of this.#spec.initialKeys ?? []) this.queue.add(keyText(key), { reason: 'start' });
    for (let i = 0; i < (this.#spec.concurrency ?? 1); i++) this.#workers.push(this.#work());
    this.#logger.info('controller started', { workers: this.#workers.length });
  }

  /** Takes no further key and resolves when the running reconciles have ended. */
  async drain(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.queue.stop();
    await Promise.all(this.#workers);
  }

  /** Aborts the signal of every running reconcile. */
  abort(reason: string): void {
    this.#stop.abort(new OperatorError('ERR_ABORTED', reason));
  }

  /** Errors: throws when a reconcile ignores its signal and holds a worker far beyond its time limit. */
  checkWorkers(): void {
    const limitMs = 3 * (this.#spec.timeoutMs ?? defaultTimeoutMs) + 60_000;
    const longest = this.queue.longestRunning();
    if (longest && longest.ms > limitMs) {
      const seconds = Math.round(longest.ms / 1000);
      throw new OperatorError('ERR_TIMEOUT', `${this.name}: ${longest.key} has been running for ${seconds} s`);
    }
  }

  #watches(): { source: Source; map: Mapper; predicates: readonly Predicate[]; by: string }[] {
    const { for: primary, owns = [], watches = [] } = this.#spec;
    const all: { source: Source; map: Mapper; predicates?: readonly Predicate[] | undefined; by?: string }[] = [];
    if (primary) all.push({ ...primary, map: toSelf });
    if (owns.length > 0 && !primary) throw new Error(`controller ${this.name} owns children but has no primary kind`);
    for (const child of owns) all.push({ ...child, map: toOwner(primary!.source.resource) });
    all.push(...watches);
    return all.map((w) => ({ ...w, predicates: w.predicates ?? [], by: w.source.resource.kind }));
  }

  #mapping({ map, predicates, by }: { map: Mapper; predicates: readonly Predicate[]; by: string }): EventMapping {
    return new EventMapping({ map, predicates }, this.#deps.clock, {
      enqueue: (event, keys) => {
        for (const key of keys.length > 1 ? new Set(keys) : keys) {
          this.#count(by, event.type);
          const reason = event.initial ? 'initial list' : `${by} ${event.type}`;
          this.queue.add(key, { priority: event.initial ? lowPriority : 0, reason });
        }
      },
      failed: (event, error, retry) => {
        this.#deps.metrics.reconcilePanics.inc({ controller: this.name });
        this.#logger.error('a predicate or mapper threw', {
          kind: by,
          event: event.type,
          namespace: event.object.metadata.namespace,
          name: event.object.metadata.name,
          error: errorText(error),
          retry,
        });
      },
    });
  }

  #count(by: string, action: string): void {
    this.#deps.metrics.triggered.inc({ controller: this.name, triggered_by: by, action });
  }

  async #work(): Promise<void> {
    for (let item = await this.queue.take(); item; item = await this.queue.take()) {
      this.#deps.metrics.activeWorkers.inc({ controller: this.name });
      try {
        await this.#run(item);
      } finally {
        this.#deps.metrics.activeWorkers.dec({ controller: this.name });
        this.queue.done(item.key);
      }
    }
  }

  /** Runs one reconcile and acts on its result. Never throws. */
  async #run(item: WorkItem): Promise<void> {
    const { clock, metrics } = this.#deps;
    const key = parseKey(item.key);
    const kind = this.#spec.for?.source.resource.kind ?? this.name;
    const reconcileID = randomUUID();
    const logger = this.#logger.with({
      object: `${kind}/${item.key}`,
      ...(key.namespace ? { namespace: key.namespace } : {}),
      name: key.name,
      reconcileID,
    });
    const started = clock.monotonic();
    const { timeoutMs = defaultTimeoutMs } = this.#spec;
    const late = (cause?: unknown): OperatorError =>
      new OperatorError('ERR_TIMEOUT', `reconcile took longer than ${timeoutMs} ms`, { cause });
    const limit = new TimeLimit(clock, timeoutMs, this.#stop.signal, late);
    const { reason, attempt } = item;
    const span = this.#deps.tracer?.begin({ controller: this.name, kind, key: item.key, reason, attempt, reconcileID });
    let outcome: ReconcileOutcome;
    let failure: unknown;
    try {
      const result = await this.#spec.reconcile(this.#context(item, key, logger, limit.signal));
      if (limit.passed) throw late();
      outcome = this.#succeeded(item, result);
    } catch (error) {
      if (limit.passed) metrics.reconcileTimeouts.inc({ controller: this.name });
      failure = limit.passed ? late(error) : error;
      outcome = this.#failed(item, failure, logger);
    } finally {
      limit.release();
    }
    const took = clock.monotonic() - started;
    metrics.reconcileTime.observe({ controller: this.name }, took / 1000);
    metrics.reconcileTotal.inc({ controller: this.name, result: outcome });
    span?.end(outcome, outcome === 'error' ? failure : undefined);
    logger.debug('reconciled', { result: outcome, durationMs: Math.round(took), reason, attempt });
  }

  #context(item: WorkItem, key: ObjectKey, logger: Logger, signal: AbortSignal): ReconcileContext {
    const { client, cache, clock } = this.#deps;
    return { key, logger, signal, clock, client, cache, attempt: item.attempt };
  }

  /** Errors: TypeError for a delay that is NaN. */
  #succeeded(item: WorkItem, result: ReconcileResult): ReconcileOutcome {
    const afterMs = result?.requeueAfterMs;
    if (afterMs !== undefined) checkDelay(afterMs, 'requeueAfterMs');
    this.queue.limiter.forget(item.key);
    if (afterMs === undefined) return 'success';
    this.queue.add(item.key, { afterMs, reason: 'requeue' });
    return 'requeue_after';
  }

  #failed(item: WorkItem, error: unknown, logger: Logger): ReconcileOutcome {
    const { metrics } = this.#deps;
    const controller = this.name;
    if (this.#stop.signal.aborted) {
      logger.info('reconcile interrupted by shutdown', { error: errorText(error) });
      return 'error';
    }
    if (error instanceof RequeueError) {
      this.queue.limiter.forget(item.key);
      logger.debug('reconcile will run again', { reason: error.message, afterMs: error.afterMs });
      this.queue.add(item.key, { afterMs: error.afterMs, reason: 'requeue' });
      return 'requeue_after';
    }
    metrics.reconcileErrors.inc({ controller });
    if (error instanceof TerminalError) {
      this.queue.limiter.forget(item.key);
      metrics.terminalErrors.inc({ controller });
      logger.error('reconcile failed for good', { error: errorText(error) });
      return 'error';
    }
    // Errors of our own classes are expected. Any other error is a bug and counts as a panic, as in controller-runtime.
    const reasons = reasonsOf(error);
    const [first] = eachError(error);
    const foreseen = reasons.every((one) => one instanceof OperatorError) && first instanceof OperatorError;
    const bug = reasons.find((one) => !(one instanceof OperatorError));
    if (!foreseen) metrics.reconcilePanics.inc({ controller });
    const afterMs = this.queue.retry(item.key, {
      priority: item.priority,
      atLeastMs: Math.max(...reasons.map(retryAfterMs)),
    });
    logger[foreseen && item.attempt < 3 ? 'warn' : 'error']('reconcile failed, it will be tried again', {
      error: errorText(error),
      ...(foreseen ? { code: first.code } : { stack: sourceStack(bug ?? error) }),
      attempt: item.attempt,
      retryInMs: Math.round(afterMs),
    });
    return 'error';
  }
}

/** The errors that a failed reconcile consists of; in place of a failed clean-up, what made it fail. */
function reasonsOf(error: unknown): readonly unknown[] {
  return eachError(error).flatMap((one) =>
    isOperatorError(one, 'ERR_FINALIZER') && one.cause !== undefined ? reasonsOf(one.cause) : [one],
  );
}
