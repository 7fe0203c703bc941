import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type AppendResult, labelsFromPairs, type SeriesRef } from '../../tsdb/index.ts';
import type { SampledSeries, SampleSink } from '../mapping/hand-out.ts';
import type { SeriesMapper } from '../mapping/mapper.ts';
import type { MappingPolicy } from '../mapping/policy.ts';
import { admitMetrics } from '../otlp/admit.ts';
import type { Acceptance, OtlpConsumer, RejectReason } from '../otlp/consumer.ts';
import type { MetricsRequest, TracesRequest } from '../otlp/model.ts';
import { storedSelfMetrics, type SelfMetrics } from '../self-metrics.ts';

/** The part of the store that ingest needs. */
export interface IngestStore {
  append(series: SampledSeries, tMs: number, value: number): AppendResult;
  appendStale(series: SeriesRef, tMs: number): AppendResult;
  appendStart(series: SampledSeries, startMs: number): boolean;
  newestValue(series: SampledSeries, sinceMs: number): number;
  commit(): Promise<void>;
}

/** The receiver of spans. */
export interface SpanTaker {
  /** Takes the spans of a request and returns their number. */
  take(request: TracesRequest): number;
  /** Called about once a second: gives up spans that have waited too long for the identity of their pod. */
  expire(): void;
}

export interface IngestOptions {
  readonly mapper: SeriesMapper;
  readonly store: IngestStore;
  readonly spans: SpanTaker;
  readonly metrics: SelfMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Memory for waiting requests. Units: bytes of their bodies. Default 64 MiB. */
  readonly budgetBytes?: number;
  /** Updates those of the agent's stored metrics that no event updates, such as gauges. */
  readonly refreshSelf?: () => void | Promise<void>;
}

/** Requests that one commit makes durable. */
interface Group {
  /** Resolves when the requests are durable, or when their senders have waited long enough. */
  readonly settled: Promise<void>;
  readonly end: () => void;
}

/** Requests are grouped this long before one write makes them durable. Units: ms. */
const groupMs = 50;
/** How often the store is committed while no request comes. Units: ms. */
const idleMs = 1_000;
/** A sender waits at most this long for the disk: a stalled disk must not stall the instrument. Units: ms. */
const maxWaitMs = 250;
/** A jump of the wall clock against the monotonic one by more than this is logged. Units: ms. */
const clockStepMs = 30_000;
/** Senders whose attributes are false are logged at most this often. Units: ms. */
const doubtsMs = 600_000;
/** How often silent streams are expired and the agent's own metrics are stored. Units: ms. */
const houseKeepingMs = 10_000;

/**
 * Takes decoded requests and writes their samples to the store.
 *
 * Flow: `metrics` (checks, mapping, samples in memory, return) → 50 ms later: the sums of series that several streams
 * feed, `commit`, answer → every 10 s: stale markers, the agent's own series.
 * Guarantees: answered data is durable, as long as the disk takes it within a quarter of a second; after that the
 * sender is answered all the same, because an instrument that waits grows without bound. Requests beyond the memory
 * budget are refused with a partial success and counted. A store that cannot write is logged once, and serving goes on.
 */
export class Ingest implements OtlpConsumer {
  readonly #options: IngestOptions;
  readonly #sink: SampleSink;
  readonly #budget: number;
  /** Bytes of the bodies whose samples are not durable yet. */
  #waitingBytes = 0;
  #cancel: () => void = () => {};
  /** The requests that arrived since the last commit began; null when there are none. */
  #group: Group | null = null;
  #lastHouseKeeping = -Infinity;
  #lastRefresh = -Infinity;
  #mappingFailing = false;
  #storeFailing = false;
  /** The store is at its limit of data that is not yet durable, and refused all samples of the last group. */
  #storeFull = false;
  /** Wall clock minus monotonic clock, ms; null before the first check. */
  #clockOffset: number | null = null;
  #appended = 0;
  #rejected = 0;
  #storeRefused = 0;
  #newestMs = 0;
  #closed = false;
  #selfSeries = new Map<string, SeriesRef>();
  #logged = { strangers: 0, contradicted: 0, atMs: -Infinity };
  #seen = {
    l4: 0,
    http: 0,
    late: 0,
    unknownPods: 0,
    unknownFlows: 0,
    contradicted: 0,
    hits: { node: 0, namespace: 0, monitor: 0 },
  };

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#budget = options.budgetBytes ?? 64 * 1024 * 1024;
    this.#sink = {
      append: (series, tMs, value) => this.#note(options.store.append(series, tMs, value), tMs),
      stale: (series, tMs) => this.#note(options.store.appendStale(series, tMs), 0),
      start: (series, startMs) => void (options.store.appendStart(series, startMs) && this.#appended++),
      stored: (series, sinceMs) => options.store.newestValue(series, sinceMs),
    };
  }

  /** Samples appended, and points, spans and requests refused, since the start. */
  get totals(): { samplesAppended: number; rejected: number } {
    return { samplesAppended: this.#appended, rejected: this.#rejected };
  }

  /** Starts the timer that commits groups of requests. */
  start(): void {
    this.#schedule(idleMs);
  }

  metrics(request: MetricsRequest, bytes: number): Acceptance {
    const { clock, mapper, logger } = this.#options;
    const now = { wall: clock.now(), mono: clock.monotonic() };
    this.#countSkipped(request);
    const admitted = admitMetrics(request, now.wall);
    if (this.#closed || this.#waitingBytes + bytes > this.#budget) {
      const points = countPoints(admitted.request) + admitted.rejected;
      this.rejected('over_budget', points);
      return { rejected: points, reason: 'the agent is over its memory budget' };
    }
    if (admitted.rejected > 0) this.rejected('invalid_point', admitted.rejected);
    this.#waitingBytes += bytes;
    try {
      mapper.add(admitted.request, now, this.#sink);
    } catch (error) {
      this.rejected('malformed', 1);
      logger.error('otlp request could not be mapped', { error: errorText(error) });
    }
    if (!this.#group) {
      this.#group = this.#newGroup();
      this.#schedule(groupMs);
    }
    const { settled } = this.#group;
    if (!this.#storeFull) return { ...admitted, settled };
    // Samples that cannot be stored are still mapped, so that scrapes go on. The sender learns that they will not be
    // found later.
    return {
      rejected: countPoints(admitted.request) + admitted.rejected,
      reason: 'the disk of the store is full',
      settled,
    };
  }

  traces(request: TracesRequest): Acceptance {
    this.#countSkipped(request);
    this.#options.metrics.captureEvents.inc({ kind: 'span', module: 'http1' }, this.#options.spans.take(request));
    return { rejected: 0, reason: '' };
  }

  #countSkipped({ skippedAttributes = 0 }: MetricsRequest | TracesRequest): void {
    if (skippedAttributes > 0) this.#options.metrics.otlpSkippedAttributes.inc(skippedAttributes);
  }

  rejected(reason: RejectReason, count: number): void {
    this.#rejected += count;
    this.#options.metrics.otlpRejected.inc({ reason }, count);
  }

  /** Stores the data of all waiting requests, and resolves when it is durable. Errors of the store are logged. */
  async process(): Promise<void> {
    const { logger } = this.#options;
    const group = this.#group;
    const waitingBytes = this.#waitingBytes;
    this.#waitingBytes = 0;
    this.#group = null;
    try {
      await this.#keepHouse(waitingBytes);
      this.#mappingFailing = false;
    } catch (error) {
      if (!this.#mappingFailing) logger.error('a group of requests was not mapped whole', { error: errorText(error) });
      this.#mappingFailing = true;
    }
    await this.#commitOnce();
    group?.end();
  }

  /**
   * Stores the sums of series that several streams feed. When due, ends expired streams and stores the agent's own
   * series.
   */
  async #keepHouse(waitingBytes: number): Promise<void> {
    const { mapper, metrics, clock } = this.#options;
    const now = { wall: clock.now(), mono: clock.monotonic() };
    this.#watchClock(now);
    this.#storeFull = false;
    if (now.mono - this.#lastRefresh >= idleMs) {
      this.#lastRefresh = now.mono;
      this.#options.spans.expire();
      mapper.refreshIdentity(now, this.#sink);
    }
    mapper.flush(this.#sink);
    if (this.#newestMs > 0) metrics.otlpLag.set(Math.max(0, now.wall - this.#newestMs) / 1_000);
    this.#newestMs = 0;
    if (now.mono - this.#lastHouseKeeping >= houseKeepingMs) {
      this.#lastHouseKeeping = now.mono;
      mapper.expire(now, this.#sink);
      this.#tellDoubts(now.mono);
      await this.#storeSelfMetrics(now.wall);
    }
    metrics.otlpQueueBytes.set(waitingBytes);
    this.#count();
  }

  /** Applies the rules and limits of a new capture config immediately. */
  setPolicy(policy: MappingPolicy): void {
    const { mapper, clock } = this.#options;
    mapper.setPolicy(policy, { wall: clock.now(), mono: clock.monotonic() }, this.#sink);
  }

  /** Takes no further requests, and resolves when all accepted data is durable. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.process();
  }

  /** Sets the one timer anew: while the disk stalls, several `process()` run, and each of them ends by setting it. */
  #schedule(ms: number): void {
    this.#cancel();
    if (this.#closed) return;
    this.#cancel = this.#options.clock.setTimeout(() => {
      void this.process().finally(() => {
        // A request that came in the meantime has set its own, earlier timer.
        if (!this.#group) this.#schedule(idleMs);
      });
    }, ms);
  }

  #newGroup(): Group {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.setTimeout(resolve, maxWaitMs);
    return { settled: promise, end: () => (cancel(), resolve()) };
  }

  #note(result: AppendResult, tMs: number): void {
    if (result === 'appended') {
      this.#appended++;
      if (tMs > this.#newestMs) this.#newestMs = tMs;
    } else if (result !== 'duplicate') {
      if (result === 'full') this.#storeFull = true;
      this.#storeRefused++;
    }
  }

  #watchClock({ wall, mono }: { wall: number; mono: number }): void {
    const offset = wall - mono;
    const moved = this.#clockOffset === null ? 0 : offset - this.#clockOffset;
    if (Math.abs(moved) > clockStepMs) {
      this.#options.logger.warn(
        'the clock was set; samples behind those stored already are refused until it catches up',
        {
          byMs: Math.round(moved),
        },
      );
    }
    if (this.#clockOffset === null || Math.abs(moved) > clockStepMs) this.#clockOffset = offset;
  }

  /** Logs, at a limited rate, data whose attributes are false: an administrator has to look at its sender. */
  #tellDoubts(nowMs: number): void {
    const { mapper, logger } = this.#options;
    const { strangers, lastContradiction, counts } = mapper;
    const fresh = strangers > this.#logged.strangers || counts.contradicted > this.#logged.contradicted;
    if (!fresh || nowMs - this.#logged.atMs < doubtsMs) return;
    logger.warn('senders name pods that are not theirs: data of unknown senders is stored without a namespace', {
      unknownStreams: strangers - this.#logged.strangers,
      correctedStreams: counts.contradicted - this.#logged.contradicted,
      ...(lastContradiction ? { lastCorrected: lastContradiction } : {}),
    });
    this.#logged = { strangers, contradicted: counts.contradicted, atMs: nowMs };
  }

  #count(): void {
    const { mapper, metrics } = this.#options;
    const { counts, limitHits } = mapper;
    metrics.captureEvents.inc({ kind: 'metric', module: 'l4_tcp' }, counts.l4 - this.#seen.l4);
    metrics.captureEvents.inc({ kind: 'metric', module: 'http1' }, counts.http - this.#seen.http);
    for (const scope of ['node', 'namespace', 'monitor'] as const) {
      metrics.limitHits.inc({ scope }, limitHits[scope] - this.#seen.hits[scope]);
    }
    metrics.metadataMissing.inc({ kind: 'pod' }, counts.unknownPods - this.#seen.unknownPods);
    metrics.metadataMissing.inc({ kind: 'flow' }, counts.unknownFlows - this.#seen.unknownFlows);
    metrics.contradicted.inc({ kind: 'stream' }, counts.contradicted - this.#seen.contradicted);
    this.#seen = { ...counts, hits: { ...limitHits } };
    if (this.#storeRefused > 0) this.rejected('store', this.#storeRefused);
    this.#storeRefused = 0;
    metrics.seriesActive.set(mapper.table.size);
  }

  async #storeSelfMetrics(tMs: number): Promise<void> {
    await this.#options.refreshSelf?.();
    const gone = new Set(this.#selfSeries.keys());
    for (const name of storedSelfMetrics) {
      const metric = this.#options.metrics.registry.getSingleMetric(name);
      if (!metric) continue;
      for (const { labels, value } of (await metric.get()).values) {
        const pairs = Object.entries({ ...labels, [nodeLabel]: this.#options.mapper.node }).map(
          ([k, v]) => [k, String(v)] as const,
        );
        const key = `${name} ${pairs.join()}`;
        let stored = this.#selfSeries.get(key);
        if (!stored) {
          stored = { labels: labelsFromPairs([['__name__', name], ...pairs]), slot: -1 };
          this.#selfSeries.set(key, stored);
        }
        gone.delete(key);
        this.#sink.append(stored, tMs, value);
      }
    }
    for (const key of gone) {
      this.#sink.stale(this.#selfSeries.get(key)!, tMs);
      this.#selfSeries.delete(key);
    }
  }

  #commitOnce(): Promise<void> {
    return this.#options.store.commit().then(
      () => {
        if (this.#storeFailing) this.#options.logger.info('the store can write again');
        this.#storeFailing = false;
        this.#options.metrics.tsdbWriteError.set(0);
      },
      (error: unknown) => {
        if (!this.#storeFailing) {
          this.#options.logger.error('the store cannot write; queries and scrapes are still served', {
            error: errorText(error),
          });
        }
        this.#storeFailing = true;
        this.#options.metrics.tsdbWriteError.set(1);
      },
    );
  }
}

function countPoints(request: MetricsRequest): number {
  let points = 0;
  for (const { scopes } of request.resources) {
    for (const { metrics } of scopes) for (const { data } of metrics) points += data?.points.length ?? 0;
  }
  return points;
}
