import type { KubeObject } from '../../api/meta.ts';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { sha256Hex } from '../../base/canonical-json.ts';
import { cutToBytes } from '../../base/text/texts.ts';
import { within } from '../../base/time-limit.ts';
import type { Logger } from '../../base/logger.ts';
import { coreResources, isNotFound, type KubeClient, type TypedObject } from '../../kube/index.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import { microTime } from '../micro-time.ts';
import type { EventDetails, EventRecorder } from '../types.ts';

export interface EventRecorderOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  /** `reportingController`, such as `shop-operator`. */
  component: string;
  /** `reportingInstance`: the pod's name. */
  instance: string;
  metrics?: RuntimeMetrics | undefined;
  /** The largest number of Events in the queue. Default 1,000. */
  capacity?: number | undefined;
}

interface Series {
  name: string;
  namespace: string;
  count: number;
  lastAt: number;
}
interface Pending {
  regarding: TypedObject;
  details: EventDetails;
  at: number;
}

const defaultCapacity = 1_000;
const seriesLimit = 4_096;
/** An event that repeats within this time raises the count of its Event. Source: client-go's events v1. Units: ms. */
const seriesMs = 6 * 60_000;
/** The longest note that the API server accepts. Units: bytes. */
const maxNote = 1_024;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Writes `events.k8s.io/v1` Events from a queue, one at a time, in the background.
 *
 * Guarantees: `record` returns immediately and never throws; equal events (object, type, reason, action, message)
 * become one Event with a count; the queue is bounded, and an Event that does not fit is dropped and counted.
 * Caveats: Events are for people. They may be late or lost, so no decision may depend on them.
 */
export class QueuedEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #queue: Pending[] = [];
  readonly #series = new Map<string, Series>();
  #wake: (() => void) | undefined;
  #seq = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    options.metrics?.eventsDropped.inc(0);
  }

  record(regarding: TypedObject, details: EventDetails): void {
    if (this.#queue.length >= (this.#options.capacity ?? defaultCapacity)) {
      this.#options.metrics?.eventsDropped.inc();
      return;
    }
    this.#queue.push({ regarding, details, at: this.#options.clock.now() });
    this.#wake?.();
  }

  /** Writes until the signal aborts, then writes the queued rest for at most two seconds. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (next) await this.#write(next, signal);
      else await this.#more(signal);
    }
    await within(this.#options.clock, 2_000, async (last) => {
      for (let next = this.#queue.shift(); next && !last.aborted; next = this.#queue.shift())
        await this.#write(next, last);
    });
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = undefined;
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  async #write(pending: Pending, signal: AbortSignal): Promise<void> {
    const { client, clock, logger, metrics } = this.#options;
    const id = identity(pending);
    const series = this.#series.get(id);
    try {
      if (series && pending.at - series.lastAt < seriesMs && (await this.#extend(series, pending, signal))) return;
      const event = this.#build(pending);
      await client.create(coreResources.events, event, { signal, deadlineMs: 10_000 });
      this.#remember(id, {
        name: event.metadata.name!,
        namespace: event.metadata.namespace!,
        count: 1,
        lastAt: pending.at,
      });
    } catch (error) {
      if (signal.aborted) return;
      metrics?.eventsDropped.inc();
      logger.debug('event not written', { reason: pending.details.reason, error: errorText(error) });
      // Do not overload a server that has no room for Events.
      await sleep(clock, 200, signal).catch(() => {});
    }
  }

  async #extend(series: Series, pending: Pending, signal: AbortSignal): Promise<boolean> {
    const count = series.count + 1;
    const body = { series: { count, lastObservedTime: microTime(pending.at) } };
    try {
      await this.#options.client.patch(
        coreResources.events,
        series,
        { type: 'merge', body },
        { signal, deadlineMs: 10_000 },
      );
    } catch (error) {
      if (isNotFound(error)) return false; // expired: start a new one
      throw error;
    }
    series.count = count;
    series.lastAt = pending.at;
    return true;
  }

  #build({ regarding, details, at }: Pending): KubeObject {
    const { component, instance } = this.#options;
    const { name = '', namespace, uid, resourceVersion } = regarding.metadata;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: {
        // Unique across restarts and within one millisecond.
        name: `${nameStart(regarding)}.${at.toString(16)}${(this.#seq++ % 0x10000).toString(16).padStart(4, '0')}`,
        namespace: namespace ?? 'default',
      },
      eventTime: microTime(at),
      reportingController: component,
      reportingInstance: instance.slice(0, 128),
      action: details.action ?? 'Reconcile',
      reason: details.reason,
      regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
      note: cutToBytes(details.message, maxNote),
      type: details.type,
    };
  }

  #remember(id: string, series: Series): void {
    this.#series.delete(id);
    if (this.#series.size >= seriesLimit) this.#series.delete(this.#series.keys().next().value!);
    this.#series.set(id, series);
  }
}

/** The name of an Event has to be a DNS subdomain, which the name of a role (`system:node`) or a cut name may not be. */
function nameStart({ kind, metadata: { name = '' } }: TypedObject): string {
  const start = name.slice(0, 200);
  return subdomain.test(start) ? start : kind.toLowerCase();
}

function identity({ regarding, details }: Pending): string {
  const { uid, namespace, name } = regarding.metadata;
  const { type, reason, action, message } = details;
  return sha256Hex(JSON.stringify([regarding.kind, uid, namespace, name, type, reason, action, message]));
}
