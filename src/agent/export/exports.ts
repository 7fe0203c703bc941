import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { AgentStatus, CaptureConfig, ExportSecrets } from '../../capture/index.ts';
import { type Labels, labelsFromObject, labelValue } from '../../tsdb/index.ts';
import type { Exemplar } from '../otlp/model.ts';
import type { SampledSeries } from '../mapping/hand-out.ts';
import type { SpanRecord } from '../../stream/index.ts';
import { type ConfigSource, isFromController } from '../capture/start-config.ts';
import { type Destination, destinationName, destinationsOf } from './destination.ts';
import { encodeSpan } from './encode/otlp-spans.ts';
import { Exporter } from './exporter.ts';
import { createExportMetrics, type ExportMetrics, forgetDestination, startCounting } from './metrics.ts';
import { OtlpSender } from './otlp-sender.ts';
import { HeldSecrets } from './held-secrets.ts';
import { createPost } from './post.ts';
import { removeFolder, sweepFolders } from './queue-folders.ts';
import { ExportQueue } from './queue/export-queue.ts';
import type { QueuedExemplar, QueuedSeries, SeriesMeta } from './queue/record.ts';
import { RemoteWriteSender } from './remote-write-sender.ts';
import { wantsSeries, wantsSpan } from './routing.ts';
import { authorizationOf } from './sender.ts';
import { UnopenedQueues } from './unopened-queues.ts';

export interface ExportsOptions {
  /** Folder of the queues. */
  readonly dir: string;
  /** Disk space for all queues together. Units: bytes. */
  readonly maxBytes: number;
  readonly node: string;
  readonly version: string;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Family, type, help and unit of a metric by the name of one of its series. */
  readonly metaOf: (seriesName: string) => SeriesMeta;
}

/** For how long the agent still sends queued data to a destination that left the config. Units: ms. */
const farewellMs = 30_000;

/** When the queues that could not be opened are tried again. Units: ms. */
const openAgainMs = 30_000;

/** Each queue may use this much, however many there are. Units: bytes. */
const minQueueBytes = 1024 * 1024;

interface Lane {
  destination: Destination;
  readonly queue: ExportQueue;
  readonly exporter: Exporter;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  /**
   * Null unless the destination has left the config. `cancel` stops the timer that ends the lane (queue and exporter of
   * a destination), `secret` is the value that it had. A lane that is leaving takes no new data.
   */
  leaving: { readonly cancel: () => void; readonly secret: string | undefined } | null;
}

/** A captured series. The same series is always the same object, by which its destinations are looked up. */
export type ExportedSeries = Pick<SampledSeries, 'labels' | 'exemplar'>;

interface Route {
  readonly series: QueuedSeries;
  lanes: readonly Lane[];
  /** The other destinations of the series: those whose queues could not be opened. */
  missing: readonly Destination[];
  /** The config that these were chosen by. */
  config: number;
  /** Time of the newest exemplar that was queued. */
  exemplarNs: number;
}

/**
 * Everything that the agent pushes out: one queue and one exporter for each destination of the config.
 *
 * Flow: `sample` and `span` while received data is processed → `commit` before the sender of that data is answered →
 * the exporters send.
 * Guarantees: before the sender of a sample is answered, the sample is in the queue of each of its destinations, or is
 * counted as dropped where the queue cannot be opened; ingest never waits for a destination. A destination that leaves
 * the config is still sent its queued data for at most 30 s.
 * Caveats: Secrets are held only in memory. After a restart, a destination that needs a Secret waits until the
 * controller has delivered it.
 */
export class Exports {
  readonly #options: ExportsOptions;
  readonly #metrics: ExportMetrics;
  #lanes = new Map<string, Lane>();
  readonly #unopened = new UnopenedQueues();
  #stopTrying: (() => void) | null = null;
  readonly #secrets = new HeldSecrets();
  /** Counts the configs, and the destinations that are opened later. */
  #config = 0;
  /**
   * The destinations of each series. A series is one object in the queues, too, for as long as it lives: each has a
   * number and a definition in the file that is being written.
   */
  readonly #routes = new WeakMap<ExportedSeries, Route>();
  /** Text of the histogram or summary that came last: its parts come one after another, and share it. */
  #group = '';
  #closed = false;

  constructor(options: ExportsOptions) {
    this.#options = options;
    this.#metrics = createExportMetrics(options.registry);
  }

  /** Revision of the Secrets in force; empty before the first delivery, and when the config has no use for any. */
  get secretsRevision(): string {
    return this.#secrets.revision;
  }

  setSecrets(secrets: ExportSecrets): void {
    this.#secrets.set(secrets);
  }

  /**
   * Puts the destinations of a config in force immediately. A folder that cannot be used disables only its own
   * destination, and is tried again. If it is not from a controller, the folders of destinations that it lacks stay.
   * If it is, the Secrets that it does not name are forgotten.
   */
  setConfig(config: CaptureConfig, source: ConfigSource = 'push'): void {
    if (this.#closed) return;
    const wanted = new Map(destinationsOf(config).map((d) => [d.id, d]));
    for (const [id, lane] of this.#lanes) if (!wanted.has(id) && !lane.leaving) this.#retire(id, lane);
    const gone = this.#unopened.destinations.filter(({ id }) => !wanted.has(id));
    for (const { id } of gone) this.#unopened.delete(id);
    for (const [id, destination] of wanted) {
      const lane = this.#lanes.get(id);
      if (lane?.stop.signal.aborted === false && isSame(lane.destination, destination)) {
        lane.destination = destination;
        lane.leaving?.cancel();
        lane.leaving = null;
      } else this.#replace(id, destination, lane);
    }
    for (const destination of gone) this.#forgetMetrics(destinationName(destination));
    this.#shareDisk();
    this.#config++;
    if (!isFromController(source)) return;
    sweepFolders(this.#options.dir, (id) => wanted.has(id) || this.#lanes.has(id), this.#options.logger);
    this.#secrets.keepOnly(new Set([...wanted.values()].flatMap(({ rule }) => rule.secret ?? [])));
  }

  /** Tries again to open the queues that could not be opened; their destinations get what comes from now on. */
  #openAgain(): void {
    this.#stopTrying = null;
    const before = this.#unopened.size;
    for (const one of this.#unopened.destinations) this.#replace(one.id, one, this.#lanes.get(one.id));
    if (this.#unopened.size === before) return;
    this.#shareDisk();
    this.#config++;
  }

  /**
   * Divides the disk space among the queues. One that is leaving takes no new data, but what was appended before may not
   * be written yet: it may use an equal share, and the others share what it does not have.
   */
  #shareDisk(): void {
    const lanes = [...this.#lanes.values()];
    const { maxBytes } = this.#options;
    const share = Math.floor(maxBytes / lanes.length);
    let left = maxBytes;
    for (const { queue } of lanes.filter(({ leaving }) => leaving)) {
      queue.setMaxBytes(Math.max(minQueueBytes, share));
      left -= Math.min(queue.bytes, share);
    }
    const staying = lanes.filter(({ leaving }) => !leaving);
    for (const { queue } of staying) queue.setMaxBytes(Math.max(minQueueBytes, Math.floor(left / staying.length)));
  }

  #replace(id: string, destination: Destination, old: Lane | undefined): void {
    old?.stop.abort();
    const { dir, maxBytes, logger, clock } = this.#options;
    const nowMs = clock.monotonic();
    const name = destinationName(destination);
    startCounting(this.#metrics, name);
    try {
      // An existing queue is kept: the data of the same owner goes out under the new rule.
      const queue =
        old?.queue ??
        ExportQueue.open(
          {
            dir: join(dir, id),
            maxBytes,
            onDropped: (items, reason, unreadableBytes) => {
              this.#metrics.dropped.inc({ destination: name, reason }, items);
              const unreadable = unreadableBytes > 0 ? { unreadableBytes } : {};
              logger.warn('export data dropped unsent', { destination: name, items, reason, ...unreadable });
            },
          },
          (cause) => this.#unopened.failingMs(id, errorText(cause), nowMs),
        );
      // The token of a monitor may not carry the data of an earlier one of its name.
      const owned = destination.uid === undefined ? undefined : queue.own(destination.uid);
      this.#lanes.set(id, this.#start(destination, queue, Promise.all([old?.done, owned])));
      this.#unopened.delete(id);
    } catch (cause) {
      const error = errorText(cause);
      const isNew = this.#unopened.add(destination, error, nowMs);
      if (isNew) logger.error('export queue cannot be opened', { destination: name, error });
      this.#stopTrying ??= clock.setTimeout(() => this.#openAgain(), openAgainMs);
    }
  }

  #start(destination: Destination, queue: ExportQueue, after: Promise<unknown>): Lane {
    const { clock, logger, random = Math.random } = this.#options;
    const stop = new AbortController();
    const { rule } = destination;
    const url = new URL(rule.endpoint);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const { post, close } = createPost({ host, allow: rule.allow }, clock, stop.signal);
    const secret = (): string | undefined =>
      rule.secret === undefined ? undefined : (this.#secrets.valueOf(rule.secret) ?? lane.leaving?.secret);
    const common = {
      post,
      clock,
      labels: labelsFromObject(rule.labels ?? {}),
      userAgent: `svc-agent/${this.#options.version}`,
      authorization: () => authorizationOf(secret()),
    };
    const sender =
      rule.type === 'RemoteWrite'
        ? new RemoteWriteSender({ ...common, url })
        : new OtlpSender({ ...common, endpoint: url, node: this.#options.node });
    const hasSecret = (): boolean => rule.secret === undefined || secret() !== undefined;
    const exporter = new Exporter({
      destination,
      queue,
      sender,
      hasSecret,
      clock,
      random,
      logger,
      metrics: this.#metrics,
      signal: stop.signal,
    });
    const done = after
      .then(() => exporter.run())
      .catch((error: unknown) =>
        logger.error('export ended', { destination: destinationName(destination), error: errorText(error) }),
      )
      .finally(close);
    const lane: Lane = { destination, queue, exporter, stop, done, leaving: null };
    return lane;
  }

  #retire(id: string, lane: Lane): void {
    const { secret } = lane.destination.rule;
    const cancel = this.#options.clock.setTimeout(() => {
      lane.stop.abort();
      const name = destinationName(lane.destination);
      // A destination that was added again in the meantime has taken over the queue.
      const isLast = (): boolean => !this.#closed && this.#lanes.get(id) === lane;
      void lane.done
        .then(() => (isLast() ? lane.queue.discard() : undefined))
        .then(() => {
          if (!isLast()) return;
          this.#lanes.delete(id);
          removeFolder(this.#options.dir, id, this.#options.logger);
          this.#forgetMetrics(name);
          this.#shareDisk();
        });
    }, farewellMs);
    lane.leaving = { cancel, secret: secret === undefined ? undefined : this.#secrets.valueOf(secret) };
    lane.stop.signal.addEventListener('abort', cancel, { once: true });
  }

  /** Removes the metrics of a destination, unless another one has its name, as after a change of the address. */
  #forgetMetrics(name: string): void {
    const rest = [...this.#lanes.values().map(({ destination }) => destination), ...this.#unopened.destinations];
    if (rest.every((one) => destinationName(one) !== name)) forgetDestination(this.#metrics, name);
  }

  /** Queues a stored sample, with the series' newest exemplar if that has not been sent yet. */
  sample(series: ExportedSeries, timeMs: number, value: number): void {
    if (this.#lanes.size + this.#unopened.size === 0) return;
    const route = this.#routeOf(series);
    const { exemplar } = series;
    this.#countMissed(route.missing);
    if (route.lanes.length === 0) return;
    const isNew = exemplar != null && exemplar.timeNs > route.exemplarNs;
    if (isNew) route.exemplarNs = exemplar.timeNs;
    const more: { exemplar?: QueuedExemplar } = isNew ? { exemplar: queuedExemplar(exemplar) } : {};
    for (const lane of route.lanes) lane.queue.append({ series: route.series, timeMs, value, stale: false, ...more });
  }

  /** Queues the end of a stored series. */
  stale(ended: ExportedSeries, timeMs: number): void {
    if (this.#lanes.size + this.#unopened.size === 0) return;
    const { series, lanes, missing } = this.#routeOf(ended);
    this.#countMissed(missing);
    for (const lane of lanes) lane.queue.append({ series, timeMs, value: NaN, stale: true });
  }

  #routeOf(series: ExportedSeries): Route {
    const known = this.#routes.get(series);
    if (known?.config === this.#config) return known;
    const { labels } = series;
    const route: Route = known ?? { series: this.#seriesOf(labels), lanes: [], missing: [], config: 0, exemplarNs: 0 };
    route.lanes = [...this.#lanes.values()].filter((l) => !l.leaving && wantsSeries(l.destination, labels));
    route.missing = this.#unopened.destinations.filter((one) => wantsSeries(one, labels));
    route.config = this.#config;
    this.#routes.set(series, route);
    return route;
  }

  /** Queues a span in the redacted form that live streams of spans show. */
  span(record: SpanRecord, startNs: bigint): void {
    if (this.#unopened.size > 0) {
      this.#countMissed(this.#unopened.destinations.filter((one) => wantsSpan(one, record)));
    }
    let encoded: Uint8Array | undefined;
    for (const lane of this.#lanes.values()) {
      if (lane.leaving || !wantsSpan(lane.destination, record)) continue;
      encoded ??= encodeSpan(record, startNs, this.#options.node);
      lane.queue.appendSpan(encoded);
    }
  }

  /** Counts an item that these destinations never get. */
  #countMissed(destinations: readonly Destination[]): void {
    for (const one of destinations) this.#metrics.dropped.inc({ destination: destinationName(one), reason: 'disk' });
  }

  #seriesOf(labels: Labels): QueuedSeries {
    const meta = this.#options.metaOf(labelValue(labels, '__name__'));
    if (meta.type !== 'histogram' && meta.type !== 'summary') return { labels, meta };
    const parts = labels.filter(([name]) => name !== '__name__' && name !== 'le' && name !== 'quantile');
    const group = `${meta.family} ${JSON.stringify(parts)}`;
    if (group !== this.#group) this.#group = group;
    return { labels, meta, group: this.#group };
  }

  /** Resolves when a kill of the process can no longer lose the queued data. Never rejects. */
  async commit(): Promise<void> {
    if (this.#lanes.size > 0) await Promise.all([...this.#lanes.values()].map((lane) => lane.queue.commit()));
  }

  /** One status row per destination, for the controller. This also updates the gauge of pending bytes. */
  statuses(): NonNullable<AgentStatus['exports']> {
    const opened = [...this.#lanes.values()]
      .filter((lane) => !lane.leaving)
      .map(({ destination, exporter, queue }) => {
        const queueError = queue.readError ?? queue.writeError;
        const message = exporter.message || (queueError === null ? '' : `queue: ${queueError}`);
        this.#metrics.pendingBytes.set({ destination: destinationName(destination) }, queue.pendingBytes);
        return {
          owner: destination.owner,
          name: destination.name,
          // A write that fails loses new items, and the others are sent.
          state: exporter.state === 'Sending' && queue.readError !== null ? 'Failing' : exporter.state,
          ...(message ? { message } : {}),
          pendingBytes: queue.pendingBytes,
          sent: exporter.taken,
          refused: exporter.refused,
        };
      });
    return [...opened, ...this.#unopened.statuses()];
  }

  /** Stops sending and closes the queues; the next process sends the remaining data. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTrying?.();
    const lanes = [...this.#lanes.values()];
    for (const lane of lanes) lane.stop.abort();
    await Promise.all(lanes.map((lane) => lane.done.then(() => lane.queue.close())));
    this.#lanes.clear();
  }
}

/** Whether the exporter of one can go on for the other, which is for the same address. */
function isSame(a: Destination, b: Destination): boolean {
  return a.uid === b.uid && JSON.stringify(a.rule) === JSON.stringify(b.rule);
}

function queuedExemplar({ timeNs, value, traceId, spanId }: Exemplar): QueuedExemplar {
  return { timeMs: Math.floor(timeNs / 1e6), value, traceId, spanId };
}
