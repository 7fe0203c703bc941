import { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { metricsOn } from '../base/metric-set.ts';
import type { RequestObservation } from '../kube/index.ts';

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The registry of the metrics, and a prefix for their names. */
export interface RuntimeMetricsOptions {
  /** Default: a registry of its own. */
  registry?: Registry;
  /** Prefix of the metrics that have no name in controller-runtime. Default `operator`. */
  prefix?: string;
}

/** Callbacks for the list and watch requests of a reflector. */
export interface ReflectorHooks {
  onList?(failed: boolean): void;
  onWatch?(failed: boolean): void;
}

/** How a reconcile ended: the `result` label of `controller_runtime_reconcile_total`. */
export type ReconcileOutcome = 'success' | 'error' | 'requeue' | 'requeue_after';

/**
 * All metrics of the runtime. Names and labels are controller-runtime's, so that existing dashboards work. Every series
 * of a controller exists from its start, with the value 0.
 */
export class RuntimeMetrics {
  readonly registry: Registry;
  readonly reconcileTotal;
  readonly reconcileErrors;
  readonly terminalErrors;
  readonly reconcilePanics;
  readonly reconcileTimeouts;
  readonly reconcileTime;
  readonly maxConcurrent;
  readonly activeWorkers;
  readonly queueDepth;
  readonly queueAdds;
  readonly queueDuration;
  readonly queueWork;
  readonly queueUnfinished;
  readonly queueLongest;
  readonly queueRetries;
  readonly restRequests;
  readonly restDuration;
  readonly restRetries;
  readonly leader;
  readonly listOps;
  readonly listFailed;
  readonly watchOps;
  readonly watchFailed;
  readonly triggered;
  readonly missedEvents;
  readonly ready;
  readonly applies;
  readonly eventsDropped;
  readonly webhookRequests;
  readonly webhookLatency;
  readonly webhookInFlight;
  readonly certificateReads;
  readonly certificateErrors;

  constructor(options: RuntimeMetricsOptions = {}) {
    const { registry = new Registry(), prefix = 'operator' } = options;
    this.registry = registry;
    const { counter, gauge, histogram } = metricsOn(registry);
    const c = 'controller_runtime';
    this.reconcileTotal = counter(`${c}_reconcile_total`, 'Reconciles by result', ['controller', 'result']);
    this.reconcileErrors = counter(`${c}_reconcile_errors_total`, 'Reconciles that failed', ['controller']);
    this.terminalErrors = counter(`${c}_terminal_reconcile_errors_total`, 'Reconciles that failed for good', [
      'controller',
    ]);
    this.reconcilePanics = counter(`${c}_reconcile_panics_total`, 'Reconciles that failed by a programming error', [
      'controller',
    ]);
    this.reconcileTimeouts = counter(`${c}_reconcile_timeouts_total`, 'Reconciles that passed their time limit', [
      'controller',
    ]);
    this.reconcileTime = histogram(`${c}_reconcile_time_seconds`, 'Time a reconcile took', seconds, ['controller']);
    this.maxConcurrent = gauge(`${c}_max_concurrent_reconciles`, 'Workers of a controller', ['controller']);
    this.activeWorkers = gauge(`${c}_active_workers`, 'Workers that are busy', ['controller']);
    const q = ['name', 'controller'] as ('name' | 'controller')[];
    this.queueDepth = gauge('workqueue_depth', 'Keys that are ready to run', q);
    this.queueAdds = counter('workqueue_adds_total', 'Adds to a queue', q);
    this.queueDuration = histogram('workqueue_queue_duration_seconds', 'Time a ready key waited', seconds, q);
    this.queueWork = histogram('workqueue_work_duration_seconds', 'Time a key was worked on', seconds, q);
    this.queueUnfinished = gauge(
      'workqueue_unfinished_work_seconds',
      'Sum of the time that running keys took so far',
      q,
    );
    this.queueLongest = gauge('workqueue_longest_running_processor_seconds', 'Time of the longest running key', q);
    this.queueRetries = counter('workqueue_retries_total', 'Adds after a failure', q);
    this.restRequests = counter('rest_client_requests_total', 'Requests to the API server', ['code', 'method', 'host']);
    this.restDuration = histogram('rest_client_request_duration_seconds', 'Time to the head of the answer', seconds, [
      'verb',
      'host',
    ]);
    this.restRetries = counter('rest_client_request_retries_total', 'Requests sent again', ['verb', 'host']);
    this.leader = gauge('leader_election_master_status', '1 while this process leads', ['name']);
    this.listOps = counter(`${prefix}_list_operations_total`, 'List requests of sources', ['kind']);
    this.listFailed = counter(`${prefix}_list_operations_failed_total`, 'List requests that failed', ['kind']);
    this.watchOps = counter(`${prefix}_watch_operations_total`, 'Watch requests of sources', ['kind']);
    this.watchFailed = counter(`${prefix}_watch_operations_failed_total`, 'Watches that failed', ['kind']);
    this.triggered = counter(
      `${prefix}_triggered_total`,
      'Keys enqueued, by the kind of the object that caused it and the kind of change',
      ['controller', 'triggered_by', 'action'],
    );
    this.missedEvents = counter(`${prefix}_watch_events_missed_total`, 'Changes that only a later list showed', [
      'kind',
    ]);
    this.ready = gauge(`${prefix}_ready`, '1 when all sources are synced and fresh');
    this.applies = counter(
      `${prefix}_apply_operations_total`,
      'Children by operation; a recreated child also counts as applied',
      ['controller', 'operation'],
    );
    this.eventsDropped = counter(`${prefix}_events_dropped_total`, 'Events not written: queue full or refused');
    const w = `${c}_webhook`;
    this.webhookRequests = counter(`${w}_requests_total`, 'Admission and conversion requests by HTTP status', [
      'webhook',
      'code',
    ]);
    this.webhookLatency = histogram(
      `${w}_latency_seconds`,
      'Time to answer an admission or conversion request',
      seconds,
      ['webhook'],
    );
    this.webhookInFlight = gauge(`${w}_requests_in_flight`, 'Admission and conversion requests being answered', [
      'webhook',
    ]);
    this.certificateReads = counter('certwatcher_read_certificate_total', 'Looks at the serving certificate');
    this.certificateErrors = counter(
      'certwatcher_read_certificate_errors_total',
      'Looks at the serving certificate that failed',
    );
  }

  /** Creates every series of a webhook, with the value 0. `webhook` is its path. */
  declareWebhook(webhook: string): void {
    for (const code of ['200', '500']) this.webhookRequests.inc({ webhook, code }, 0);
    this.webhookLatency.zero({ webhook });
    this.webhookInFlight.set({ webhook }, 0);
  }

  /** Begins to measure one review; call the returned function with the HTTP status when it ends. */
  observeWebhook(webhook: string, clock: Pick<Clock, 'monotonic'>): (code: number) => void {
    const started = clock.monotonic();
    this.webhookInFlight.inc({ webhook });
    return (code) => {
      this.webhookInFlight.dec({ webhook });
      this.webhookRequests.inc({ webhook, code: String(code) });
      this.webhookLatency.observe({ webhook }, (clock.monotonic() - started) / 1000);
    };
  }

  /** Creates every series of a controller, with the value 0. `kinds` are the kinds that the controller watches. */
  declareController(controller: string, workers: number, kinds: readonly string[]): void {
    for (const kind of kinds) {
      for (const action of ['added', 'updated', 'deleted'])
        this.triggered.inc({ controller, triggered_by: kind, action }, 0);
    }
    this.triggered.inc({ controller, triggered_by: 'trigger', action: 'external' }, 0);
    for (const result of ['success', 'error', 'requeue', 'requeue_after']) {
      this.reconcileTotal.inc({ controller, result }, 0);
    }
    for (const counter of [this.reconcileErrors, this.terminalErrors, this.reconcilePanics, this.reconcileTimeouts]) {
      counter.inc({ controller }, 0);
    }
    for (const operation of ['applied', 'recreated', 'skipped', 'pruned'])
      this.applies.inc({ controller, operation }, 0);
    this.reconcileTime.zero({ controller });
    this.maxConcurrent.set({ controller }, workers);
    this.activeWorkers.set({ controller }, 0);
    const labels = { name: controller, controller };
    this.queueDepth.set(labels, 0);
    this.queueAdds.inc(labels, 0);
    this.queueRetries.inc(labels, 0);
    this.queueDuration.zero(labels);
    this.queueWork.zero(labels);
    this.queueUnfinished.set(labels, 0);
    this.queueLongest.set(labels, 0);
  }

  /** Pass it to `createKubeClient` as `onRequest`. */
  readonly onRequest = (seen: RequestObservation): void => {
    this.restRequests.inc({ code: seen.code, method: seen.method, host: seen.host });
    this.restDuration.observe({ verb: seen.method, host: seen.host }, seen.durationMs / 1000);
  };

  /** Pass it to `createKubeClient` as `onRetry`. */
  readonly onRetry = (method: string, host: string): void => {
    this.restRetries.inc({ verb: method, host });
  };

  /** Counts lists and watches of one kind. */
  sourceHooks(kind: string): ReflectorHooks {
    for (const counter of [this.listOps, this.listFailed, this.watchOps, this.watchFailed]) counter.inc({ kind }, 0);
    return {
      onList: (failed) => (failed ? this.listFailed : this.listOps).inc({ kind }),
      onWatch: (failed) => (failed ? this.watchFailed : this.watchOps).inc({ kind }),
    };
  }
}
