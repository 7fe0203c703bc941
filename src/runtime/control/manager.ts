import type { Registry } from 'prom-client';
import { aborted } from '../../base/aborted.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError, joined, OperatorError, throwAll } from '../../base/errors.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/index.ts';
import { Controller } from './controller.ts';
import { QueuedEventRecorder } from './events.ts';
import { Health } from '../health.ts';
import { LeaderElector, type LeaderElectionOptions } from './leader-election.ts';
import { RuntimeMetrics } from '../metrics.ts';
import { SharedCache } from '../watch/shared-cache.ts';
import type { RunTracer } from '../tracing.ts';
import type { ControllerEnvironment, ControllerHandle, ControllerSpec, EventRecorder, Runnable } from '../types.ts';

/** Options of a manager. Required: `client`, `clock`, `logger`, `component` and `instance`. */
export interface ManagerOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics?: RuntimeMetrics;
  /** Receives a span per reconcile; see `openTracing`. Default: no spans are made. */
  tracer?: RunTracer | undefined;
  /** Name of the program: `reportingController` of Events, and the first part of every field manager. */
  component: string;
  /** This process: the pod's name. */
  instance: string;
  /** Absent in tests and in tools with a single replica: they start their controllers without a Lease. */
  leaderElection?: Pick<LeaderElectionOptions, 'namespace' | 'name' | 'leaseMs' | 'renewDeadlineMs' | 'retryMs'> & {
    identity: string;
  };
  /** How long running reconciles may go on after a stop. Units: ms. Default 30 s. */
  drainMs?: number;
  /** How long the first lists may take. Units: ms. Default 2 min. */
  syncLimitMs?: number;
  random?: () => number;
  streamingList?: boolean;
  /** Make cached objects immutable. For tests. */
  freezeCache?: boolean;
}

/**
 * Owns the shared parts of an operator, and starts and stops them in order.
 *
 * Flow of `run`: the caches fill, while the runnables with `beforeCaches` run already → the runnables of every replica
 * start → leadership → controllers and the leader's runnables start → the signal aborts → controllers drain → the
 * leader's runnables end → the lease is released → all other runnables end. It resolves when everything has ended.
 * Guarantees: a controller starts only when every cache is filled that had been requested when `run` was called or, for
 * a controller that is added later, when it was added, except the cache of a kind that the server does not know; such a
 * later controller waits as long as it takes; when the lease is lost, the signals of reconciles and of the leader's
 * runnables abort at once; `run` never exits the process.
 * Errors: `run` rejects with ERR_CACHE_SYNC, ERR_LEASE_LOST, or the error of a runnable, after everything has stopped;
 * several come as an AggregateError.
 */
export class Manager implements ControllerEnvironment {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: SharedCache;
  readonly events: EventRecorder;
  readonly metrics: RuntimeMetrics;
  readonly registry: Registry;
  readonly liveness = new Health();
  readonly readiness = new Health();
  readonly #options: ManagerOptions;
  readonly #recorder: QueuedEventRecorder;
  readonly #controllers: Controller[] = [];
  readonly #runnables: Runnable[] = [];
  /** Set by `run`. Aborts when the manager stops. */
  #stop: AbortSignal | undefined;
  /** True while controllers run. */
  #working = false;
  /** Controllers whose caches are filled, and which wait for leadership. */
  readonly #filled: Controller[] = [];
  #elector: LeaderElector | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.client = options.client;
    this.clock = options.clock;
    this.logger = options.logger;
    this.metrics = options.metrics ?? new RuntimeMetrics();
    this.registry = this.metrics.registry;
    this.cache = new SharedCache({
      client: options.client,
      clock: options.clock,
      logger: options.logger,
      metrics: this.metrics,
      ...(options.random ? { random: options.random } : {}),
      ...(options.streamingList !== undefined ? { streamingList: options.streamingList } : {}),
      ...(options.freezeCache ? { freeze: true } : {}),
    });
    this.#recorder = new QueuedEventRecorder({
      client: options.client,
      clock: options.clock,
      logger: options.logger,
      component: options.component,
      instance: options.instance,
      metrics: this.metrics,
    });
    this.events = this.#recorder;
    // A source may be disconnected for a while; after twice the inactivity limit its cache must not be trusted.
    this.readiness.add('caches', () => this.cache.check(2));
    this.liveness.add('sources', () => this.cache.checkLive(5));
    this.liveness.add('workers', () => {
      for (const controller of this.#controllers) controller.checkWorkers();
    });
  }

  /** True while this process leads; without election, once `run` was called. */
  get leading(): boolean {
    return this.#options.leaderElection ? (this.#elector?.leading ?? false) : this.#stop !== undefined;
  }

  /** True while the controllers run and no key is in progress or ready; delayed keys do not count. */
  get idle(): boolean {
    return this.#working && this.#controllers.every((c) => c.queue.idle);
  }

  addController(spec: ControllerSpec): ControllerHandle {
    if (this.#controllers.some((c) => c.name === spec.name)) throw new Error(`two controllers named ${spec.name}`);
    const { client, cache, clock, logger, metrics } = this;
    const controller = new Controller(spec, {
      ...{ client, cache, clock, logger, metrics },
      component: this.#options.component,
      tracer: this.#options.tracer,
    });
    this.#controllers.push(controller);
    if (this.#stop) void this.#startLate(controller, this.#stop);
    return controller;
  }

  /** `name`, or `name-2`, `name-3` … when it is taken. */
  uniqueName(name: string): string {
    const taken = new Set(this.#controllers.map((c) => c.name));
    let unique = name;
    for (let i = 2; taken.has(unique); i++) unique = `${name}-${i}`;
    return unique;
  }

  addRunnable(runnable: Runnable): void {
    if (this.#stop) throw new Error(`runnable ${runnable.name} added after the start`);
    this.#runnables.push(runnable);
  }

  addCheck(name: string, check: () => void | Promise<void>, options: { live?: boolean } = {}): void {
    this.readiness.add(name, check);
    if (options.live) this.liveness.add(name, check);
  }

  /** All metrics as text, with the time-dependent ones up to date. */
  async metricsText(): Promise<string> {
    for (const controller of this.#controllers) controller.queue.observe();
    this.metrics.ready.set((await this.readiness.run()).ok ? 1 : 0);
    return this.registry.metrics();
  }

  async run(signal: AbortSignal): Promise<void> {
    const shared = new AbortController();
    const fatal = new Fatal(signal);
    const stop = fatal.signal;
    this.#stop = stop;
    const early = [...this.#controllers];
    const shuttingDown = (): void => this.readiness.add('shutdown', () => Promise.reject(new Error('shutting down')));
    stop.addEventListener('abort', shuttingDown, { once: true });
    this.cache.start(shared.signal);
    const background = [this.#recorder.run(shared.signal), ...this.#startRunnables('first', shared.signal, fatal)];
    try {
      await this.cache.untilSynced(this.#options.syncLimitMs ?? 120_000, stop);
      this.logger.info('caches are filled');
      for (const controller of early) this.#admit(controller);
      background.push(...this.#startRunnables('everywhere', shared.signal, fatal));
      await this.#lead(stop, fatal);
    } catch (error) {
      // A stop during the start is not an error.
      if (!(stop.aborted && isOperatorError(error, 'ERR_ABORTED'))) fatal.with(error);
    }
    shared.abort();
    await Promise.all(background);
    await this.cache.stopped();
    throwAll(fatal.errors);
    this.logger.info('stopped');
  }

  /** Waits for leadership, works, and cleans up. Resolves when the stop is complete. */
  async #lead(stop: AbortSignal, fatal: Fatal): Promise<void> {
    const elector = this.#createElector();
    await elector?.acquire(stop);
    const leading = new AbortController();
    const held = elector?.hold(leading.signal).catch((error: unknown) => {
      // All that writes is aborted first: our own writes must stop before another process can lead.
      for (const controller of this.#controllers) controller.abort('the lease is lost');
      leading.abort();
      fatal.with(error);
    });
    this.#working = true;
    for (const controller of this.#filled.splice(0)) controller.start();
    const runnables = this.#startRunnables('leader', leading.signal, fatal);
    await aborted(stop);
    this.#working = false;
    this.logger.info('stopping', { reason: joined(fatal.errors.map(errorText)) || 'stop requested' });
    await this.#drain();
    leading.abort();
    await Promise.all([...runnables, held]);
    if (!fatal.errors.some((error) => isOperatorError(error, 'ERR_LEASE_LOST'))) await elector?.release();
  }

  /**
   * Admits a controller that was added after the start once every source of the cache is synced, its own included. What
   * holds a source up, such as a missing right, does not concern the controllers that run, so it does not end the
   * process: it is logged every two minutes.
   */
  async #startLate(controller: Controller, stop: AbortSignal): Promise<void> {
    for (;;) {
      const limitMs = this.#options.syncLimitMs ?? 120_000;
      const failure = await this.cache.untilSynced(limitMs, stop).then(() => undefined, errorText);
      if (stop.aborted) return;
      if (failure === undefined) return this.#admit(controller);
      this.logger.error('controller still waits for caches', { controller: controller.name, error: failure });
    }
  }

  /** Starts a controller whose caches are filled, as soon as this process leads. */
  #admit(controller: Controller): void {
    if (this.#working) controller.start();
    else this.#filled.push(controller);
  }

  async #drain(): Promise<void> {
    const cancel = this.clock.setTimeout(() => {
      this.logger.warn('the drain time is over: running reconciles are aborted');
      for (const controller of this.#controllers) controller.abort('shutting down');
    }, this.#options.drainMs ?? 30_000);
    await Promise.all(this.#controllers.map((c) => c.drain()));
    cancel();
    for (const controller of this.#controllers) controller.abort('stopped');
  }

  #startRunnables(phase: Phase, signal: AbortSignal, fatal: Fatal): Promise<void>[] {
    return this.#runnables
      .filter((r) => phaseOf(r) === phase)
      .map((r) =>
        r.run(signal).catch((error: unknown) => {
          if (!signal.aborted) fatal.with(error);
          else if (!isOperatorError(error, 'ERR_ABORTED')) {
            this.logger.warn('runnable failed', { runnable: r.name, error: errorText(error) });
          }
        }),
      );
  }

  #createElector(): LeaderElector | undefined {
    const election = this.#options.leaderElection;
    if (!election) return undefined;
    const { client, clock, logger, metrics } = this;
    const random = this.#options.random;
    this.#elector = new LeaderElector({ client, clock, logger, metrics, ...(random ? { random } : {}), ...election });
    return this.#elector;
  }
}

/** When a runnable starts: before the caches fill, after that on every replica, or once this process leads. */
type Phase = 'first' | 'everywhere' | 'leader';

function phaseOf({ beforeCaches, needsLeader }: Runnable): Phase {
  if (beforeCaches === true) return 'first';
  return needsLeader ? 'leader' : 'everywhere';
}

/** The errors that end `run`. The first one aborts the signal, and so does an abort of the outer signal. */
class Fatal extends LinkedAbort {
  readonly errors: unknown[] = [];

  with(error: unknown): void {
    this.errors.push(error ?? new OperatorError('ERR_ABORTED', 'failed without a reason'));
    this.abort();
  }
}
