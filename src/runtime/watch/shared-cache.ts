import type { KubeObject } from '../../api/meta.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, TypedObject } from '../../kube/index.ts';
import { SharedInformer } from './informer.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import { inactivityMs, Reflector } from './reflector.ts';
import type { Cache, Informer, Source } from '../types.ts';

/** The dependencies of a shared cache. */
export interface SharedCacheOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics?: RuntimeMetrics;
  random?: () => number;
  streamingList?: boolean;
  /** Freeze cached objects, so that an attempt to change one throws. For tests. */
  freeze?: boolean;
}

interface Entry {
  informer: SharedInformer;
  reflector: Reflector;
  running?: Promise<void>;
}

/** How long to wait for CRDs that may be installed at the same time as the operator. Units: ms. */
const missingGraceMs = 10_000;

/** One reflector per distinct source, however many callers request it. */
export class SharedCache implements Cache {
  readonly #options: SharedCacheOptions;
  readonly #entries = new Map<string, Entry>();
  #signal: AbortSignal | undefined;

  constructor(options: SharedCacheOptions) {
    this.#options = options;
  }

  /** The informer of a source; equal sources share one. Errors: throws on two different transforms of one name. */
  informer<T extends TypedObject = KubeObject>(source: Source): Informer<T> {
    const id = sourceId(source);
    let entry = this.#entries.get(id);
    if (entry && entry.informer.source.transform?.apply !== source.transform?.apply) {
      throw new OperatorError('ERR_INPUT_INVALID', `two transforms named ${source.transform?.name} on ${id}`);
    }
    if (!entry) {
      entry = this.#create(source);
      this.#entries.set(id, entry);
      if (this.#signal) this.#start(entry, this.#signal);
    }
    return entry.informer as unknown as Informer<T>;
  }

  /** Starts every source. Sources requested later start immediately. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const entry of this.#entries.values()) this.#start(entry, signal);
  }

  /**
   * Waits until every source has its first list, but at most ten seconds for kinds that the server does not know. The
   * source of such a kind stays empty and unsynced, which readiness reports, and fills once the kind exists.
   * Errors: ERR_CACHE_SYNC that names the sources without a list after `limitMs`.
   */
  async untilSynced(limitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const entries = [...this.#entries.values()];
    await new Promise<void>((resolve, reject) => {
      let cancelLook = (): void => {};
      const finish = (settle: () => void): void => {
        cancel();
        cancelLook();
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = (): void =>
        finish(() => reject(new OperatorError('ERR_ABORTED', 'stopped while caches were filling')));
      const cancel = clock.setTimeout(
        () =>
          finish(() => reject(new OperatorError('ERR_CACHE_SYNC', `not synced in ${limitMs} ms: ${this.#missing()}`))),
        limitMs,
      );
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      const look = (): void => {
        const waiting = entries.filter((e) => !e.informer.synced);
        if (waiting.some((e) => !e.reflector.health.missing)) cancelLook = clock.setTimeout(look, 1_000);
        else finish(resolve);
      };
      cancelLook = clock.setTimeout(look, missingGraceMs);
      void Promise.all(entries.map((e) => e.informer.untilSynced())).then(() => finish(resolve));
    });
  }

  /** Resolves when every stream has ended after the signal. */
  async stopped(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(async (e) => e.running));
  }

  /** When the server last sent anything for a source. Monotonic ms. */
  lastSeenAt(informer: Informer): number {
    const entry = [...this.#entries.values()].find((e) => e.informer === informer);
    return entry?.reflector.health.lastSeenAt ?? -Infinity;
  }

  /** Errors: throws with the sources that are not synced or have been silent for `factor` × the inactivity limit. */
  check(factor: number): void {
    const now = this.#options.clock.monotonic();
    const bad: string[] = [];
    for (const [id, { reflector, informer }] of this.#entries) {
      if (!informer.synced)
        bad.push(`${id} not synced${reflector.health.lastError ? `: ${reflector.health.lastError}` : ''}`);
      else if (now - reflector.health.lastSeenAt > factor * inactivityMs) {
        const seconds = Math.round((now - reflector.health.lastSeenAt) / 1000);
        bad.push(`${id} silent for ${seconds} s${reflector.health.lastError ? `: ${reflector.health.lastError}` : ''}`);
      }
    }
    if (bad.length > 0) throw new OperatorError('ERR_CACHE_SYNC', bad.join('; '));
  }

  /**
   * Like `check`, for liveness, but ignores sources that were never synced. A process that cannot see the cluster is
   * useless, and a restarted process begins with fresh connections.
   */
  checkLive(factor: number): void {
    const now = this.#options.clock.monotonic();
    for (const [id, { reflector }] of this.#entries) {
      const { synced, lastSeenAt, lastError } = reflector.health;
      if (!synced || now - lastSeenAt <= factor * inactivityMs) continue;
      const seconds = Math.round((now - lastSeenAt) / 1000);
      throw new OperatorError(
        'ERR_CACHE_SYNC',
        `${id} has been deaf for ${seconds} s${lastError ? `: ${lastError}` : ''}`,
      );
    }
  }

  #create(source: Source): Entry {
    const { client, clock, logger, metrics, freeze } = this.#options;
    const kind = source.resource.kind;
    const given = source.transform;
    const informer = new SharedInformer({
      source,
      transform: freeze ? (object) => deepFreeze(given ? given.apply(object) : object) : undefined,
      logger,
      clock,
      onWrote: () => reflector.kindIsThere(),
      onMissed: (count) => {
        metrics?.missedEvents.inc({ kind }, count);
        logger.info('a list showed changes that no watch did', { resource: source.resource.plural, count });
      },
    });
    metrics?.missedEvents.inc({ kind }, 0);
    const reflector: Reflector = new Reflector({
      client,
      clock,
      logger,
      source,
      sink: informer,
      ...(this.#options.random ? { random: this.#options.random } : {}),
      ...(this.#options.streamingList !== undefined ? { streamingList: this.#options.streamingList } : {}),
      hooks: metrics?.sourceHooks(kind) ?? {},
    });
    return { informer, reflector };
  }

  #start(entry: Entry, signal: AbortSignal): void {
    entry.running ??= entry.reflector.run(signal).then(() => entry.informer.close());
  }

  #missing(): string {
    return [...this.#entries]
      .filter(([, e]) => !e.informer.synced)
      .map(([id, e]) => `${id} (${e.reflector.health.lastError ?? 'no answer yet'})`)
      .join(', ');
  }
}

function sourceId(source: Source): string {
  const { resource, namespace, labelSelector, fieldSelector, metadataOnly, optional } = source;
  const scope = { namespace, labelSelector, fieldSelector, metadataOnly, optional, transform: source.transform?.name };
  return `${resource.plural}.${resource.apiVersion} ${canonicalJson(scope)}`;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
