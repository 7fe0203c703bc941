import type { KubeObject } from '../../api/meta.ts';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { Logger } from '../../base/logger.ts';
import { isGone, isNotFound, retryAfterMs, type KubeClient } from '../../kube/index.ts';
import { watchBackoff } from '../backoff.ts';
import type { ReflectorHooks } from '../metrics.ts';
import type { Source } from '../types.ts';
import {
  failureKind,
  initialWatchState,
  stepWatch,
  type FailureKind,
  type Watched,
  type WatchEffect,
  type WatchInput,
} from './watch-state.ts';

/** Receives the reflector's results, in order: objects that `keep` returned. */
export interface ReflectorSink {
  /** Reduces an object to what is kept of it; called once for each, when it arrives. */
  keep(object: KubeObject): KubeObject;
  replace(items: readonly KubeObject[]): void;
  upsert(object: KubeObject): void;
  remove(object: KubeObject): void;
}

/** The state of a source, for probes. */
export interface SourceHealth {
  synced: boolean;
  /** When the server last sent anything (a frame, a bookmark, a page). Monotonic ms. */
  lastSeenAt: number;
  lastError: string | undefined;
  /** The server does not know the kind (404): its CRD is missing. */
  missing: boolean;
}

export interface ReflectorOptions {
  client: KubeClient;
  source: Source;
  sink: ReflectorSink;
  clock: Clock;
  logger: Logger;
  /** In [0, 1). Default Math.random. */
  random?: () => number;
  pageSize?: number;
  /** Request the first list as a stream; falls back to a plain list when the server refuses. Default true. */
  streamingList?: boolean;
  hooks?: ReflectorHooks;
}

/** Bookmarks arrive about every minute: a longer silence means that the connection is dead. Units: ms. */
export const inactivityMs = 70_000;

/**
 * Longest back-off while the kind is missing (404). It is short because the server is healthy, requests are cheap, and
 * a user may be waiting for the kind. Units: ms.
 */
const missingWaitMs = 5_000;

/**
 * Keeps a sink equal to one resource of the API server.
 *
 * Flow: list → replace → watch from the list's version → upserts and removals; on a failure wait, then resume from the
 * last version seen; on 410 list again. A list is streamed where the server does that, and read as a plain list after
 * such a stream fell silent for 70 s, or failed twice. Elsewhere a source with a selector is listed from the server's
 * cache, and every other one in pages from storage: Kubernetes 1.29 to 1.31 and 1.33 stream no list by default, and from
 * their cache a large cluster would come in one answer beyond the size cap.
 * Guarantees: never gives up, and ends only by its signal; logs every failure; makes at most one request at a time;
 * bounds the request rate by the back-off and honours Retry-After.
 * Assumptions: `sink` methods do not throw.
 * Caveats: kinds without a watch cache on the server (Events) get no bookmarks. The first silence of 70 s reconnects
 * such a source. From then on, a silence makes it request one object from the server instead; a half-open connection is
 * then detected when the stream's time is up (5 to 10 minutes).
 */
export class Reflector {
  readonly health: SourceHealth;
  /** Whether bookmarks arrive: `no` after a stream that fell silent without a bookmark. */
  #bookmarks: 'unknown' | 'yes' | 'no' = 'unknown';
  /** Set while the source waits for a missing optional kind; aborting it ends the wait. */
  #isThere: LinkedAbort | undefined;
  readonly #options: Required<Omit<ReflectorOptions, 'hooks'>> & { hooks: ReflectorHooks };

  constructor(options: ReflectorOptions) {
    this.#options = { random: Math.random, pageSize: 500, streamingList: true, hooks: {}, ...options };
    this.health = { synced: false, lastSeenAt: options.clock.monotonic(), lastError: undefined, missing: false };
  }

  /** Resolves when the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, sink, streamingList, pageSize } = this.#options;
    const { apiVersion, kind } = source.resource;
    const watched: Watched = { apiVersion, kind, keep: (object) => sink.keep(object) };
    const selective = source.labelSelector !== undefined || source.fieldSelector !== undefined;
    let state = initialWatchState({ streamingList, selective, pageSize });
    let input: WatchInput = { type: 'proceed' };
    const step = (next: WatchInput): readonly WatchEffect[] => {
      const result = stepWatch(state, next, watched);
      state = result.state;
      return result.effects;
    };
    while (!signal.aborted) {
      const request = this.#deliverAll(step(input));
      if (request.do === 'list') input = await this.#list(request, signal);
      else if (request.do === 'watch') input = await this.#watch(request, step, signal);
      else input = await this.#wait(request, signal);
    }
  }

  /** Passes data to the sink and returns the request to make next. */
  #deliverAll(effects: readonly WatchEffect[]): RequestEffect {
    let request: RequestEffect = { do: 'wait', failures: 1, atLeastMs: 0 };
    for (const effect of effects) {
      if (effect.do === 'list' || effect.do === 'watch' || effect.do === 'wait') request = effect;
      else this.#deliver(effect);
    }
    return request;
  }

  #deliver(effect: WatchEffect): void {
    const { sink } = this.#options;
    if (effect.do === 'replace' || effect.do === 'clear') {
      sink.replace(effect.do === 'replace' ? effect.items : []);
      this.health.synced = true;
      this.health.missing = effect.do === 'clear';
      this.health.lastError = undefined;
    } else if (effect.do === 'upsert') sink.upsert(effect.object);
    else if (effect.do === 'remove') sink.remove(effect.object);
  }

  async #wait(effect: Extract<WatchEffect, { do: 'wait' }>, signal: AbortSignal): Promise<WatchInput> {
    const backoff = effect.failures > 0 ? watchBackoff(effect.failures, this.#options.random()) : 0;
    const ms = Math.max(this.health.missing ? Math.min(backoff, missingWaitMs) : backoff, effect.atLeastMs);
    if (this.health.synced && this.health.missing) this.#isThere = new LinkedAbort(signal);
    if (ms > 0) await sleep(this.#options.clock, ms, this.#isThere?.signal ?? signal).catch(() => {});
    this.#isThere?.release();
    this.#isThere = undefined;
    return { type: 'proceed' };
  }

  /** Call it when the kind is known to be served: a source that waits for the kind then tries immediately. */
  kindIsThere(): void {
    this.#isThere?.abort();
  }

  async #list(effect: Extract<WatchEffect, { do: 'list' }>, signal: AbortSignal): Promise<WatchInput> {
    const { client, source, hooks, clock } = this.#options;
    try {
      const page = await client.list(source.resource, {
        ...scope(source),
        metadataOnly: source.metadataOnly,
        // A continue token carries its own version.
        resourceVersion: effect.next === undefined ? effect.resourceVersion || undefined : undefined,
        limit: effect.limit,
        continue: effect.next,
        signal,
        retry: false,
        deadlineMs: 60_000,
      });
      this.health.lastSeenAt = clock.monotonic();
      hooks.onList?.(false);
      return { type: 'page', items: page.items, resourceVersion: page.resourceVersion, next: page.continue };
    } catch (error) {
      if (signal.aborted) return { type: 'proceed' };
      hooks.onList?.(!this.#isAbsent(error));
      return this.#failed('list', error);
    }
  }

  async #watch(
    effect: Extract<WatchEffect, { do: 'watch' }>,
    step: (input: WatchInput) => readonly WatchEffect[],
    signal: AbortSignal,
  ): Promise<WatchInput> {
    const { client, clock, source, random, hooks } = this.#options;
    const started = clock.monotonic();
    const stream = new StreamGuard(clock, signal);
    const timeoutSeconds = 300 + Math.floor(random() * 300);
    let frames = 0;
    let filling = effect.initialEvents;
    hooks.onWatch?.(false);
    try {
      stream.endAfter(timeoutSeconds * 1000 + 5_000);
      this.#listen(stream, filling);
      const options = effect.initialEvents
        ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' as const }
        : { resourceVersion: effect.resourceVersion };
      for await (const frame of client.watch(source.resource, {
        ...scope(source),
        ...options,
        metadataOnly: source.metadataOnly,
        timeoutSeconds,
        signal: stream.signal,
      })) {
        if (signal.aborted) break;
        frames++;
        this.health.lastSeenAt = clock.monotonic();
        this.health.lastError = undefined;
        // The bookmark that ends a streamed list comes for kinds that have no others, too.
        if (frame.type === 'BOOKMARK' && !filling) this.#bookmarks = 'yes';
        for (const result of step({ type: 'frame', frame })) {
          if (result.do === 'abandon') {
            if (result.kind === 'expired') this.#note('watch', result.reason);
            else hooks.onWatch?.(true);
            stream.cut();
            return this.#failure(result.kind, result.reason, result.retryAfterMs);
          }
          if (result.do === 'replace') filling = false;
          this.#deliver(result);
        }
        this.#listen(stream, filling);
      }
      return { type: 'closed', lastedMs: clock.monotonic() - started, frames, now: clock.monotonic() };
    } catch (error) {
      if (signal.aborted) return { type: 'proceed' };
      if (stream.outlived) {
        return { type: 'closed', lastedMs: clock.monotonic() - started, frames: 1, now: clock.monotonic() };
      }
      if (!isGone(error) && !this.#isAbsent(error)) hooks.onWatch?.(true);
      if (!stream.silent) return this.#failed('watch', error);
      // Without a single bookmark so far, the kind may have none, and the silence may mean nothing. The next silence is
      // then checked by a request. No warning here: in a quiet cluster every watch of such a kind is silent once.
      const quiet = this.#bookmarks !== 'yes';
      if (this.#bookmarks === 'unknown') this.#bookmarks = 'no';
      return this.#failure('silent', `watch ${source.resource.plural}: silent for 70 s`, 0, quiet);
    } finally {
      stream.end();
    }
  }

  /** Restarts the silence timer. Silence before the end of a streamed list (`filling`) always ends the stream. */
  #listen(stream: StreamGuard, filling: boolean): void {
    stream.silenceAfter(inactivityMs, () => {
      if (this.#bookmarks === 'no' && !filling) void this.#ask(stream);
      else stream.cutAsSilent();
    });
  }

  /** For kinds without bookmarks, whose silence proves nothing: checks whether the server still serves this source. */
  async #ask(stream: StreamGuard): Promise<void> {
    const { client, source, clock } = this.#options;
    try {
      await client.list(source.resource, {
        ...scope(source),
        metadataOnly: true,
        limit: 1,
        signal: stream.signal,
        retry: false,
        deadlineMs: 10_000,
      });
      if (stream.signal.aborted) return;
      this.health.lastSeenAt = clock.monotonic();
      this.#listen(stream, false);
    } catch {
      stream.cutAsSilent();
    }
  }

  /** Whether an error means that an optional kind is not served. */
  #isAbsent(error: unknown): boolean {
    return this.#options.source.optional === true && isNotFound(error);
  }

  #failed(verb: string, error: unknown): WatchInput {
    if (this.#isAbsent(error)) {
      this.health.lastSeenAt = this.#options.clock.monotonic();
      return { type: 'failed', kind: 'absent', retryAfterMs: retryAfterMs(error), now: this.health.lastSeenAt };
    }
    this.health.missing = isNotFound(error);
    const tooLarge = verb === 'list' && isOperatorError(error, 'ERR_TOO_LARGE');
    const text = isOperatorError(error) ? errorText(error) : `${verb}: ${errorText(error)}`;
    return this.#failure(tooLarge ? 'too-large' : failureKind(error), text, retryAfterMs(error));
  }

  #failure(kind: FailureKind, reason: string, retryMs: number, quiet = false): WatchInput {
    this.health.lastError = reason;
    this.#note(kind, reason, quiet);
    return { type: 'failed', kind, retryAfterMs: retryMs, now: this.#options.clock.monotonic() };
  }

  #note(what: string, reason: string, quiet = false): void {
    const { logger, source } = this.#options;
    const fields = { resource: source.resource.plural, cause: what, error: reason };
    if (quiet || what === 'expired' || what === 'rejected') logger.debug('source starts over', fields);
    else logger.warn('source interrupted, it is retried', fields);
  }
}

type RequestEffect = Extract<WatchEffect, { do: 'list' | 'watch' | 'wait' }>;

function scope(source: Source): {
  namespace: string | undefined;
  labelSelector: string | undefined;
  fieldSelector: string | undefined;
} {
  return { namespace: source.namespace, labelSelector: source.labelSelector, fieldSelector: source.fieldSelector };
}

/** Ends a stream that lives too long or falls silent, and records the reason. */
class StreamGuard {
  readonly #clock: Clock;
  readonly #link: LinkedAbort;
  #cancelSilence: (() => void) | undefined;
  #cancelEnd: (() => void) | undefined;
  silent = false;
  outlived = false;

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.#link = new LinkedAbort(outer);
  }

  get signal(): AbortSignal {
    return this.#link.signal;
  }

  silenceAfter(ms: number, then: () => void): void {
    this.#cancelSilence?.();
    this.#cancelSilence = this.#clock.setTimeout(then, ms);
  }

  cutAsSilent(): void {
    if (this.#link.signal.aborted) return;
    this.silent = true;
    this.#link.abort();
  }

  endAfter(ms: number): void {
    this.#cancelEnd = this.#clock.setTimeout(() => {
      this.outlived = true;
      this.#link.abort();
    }, ms);
  }

  cut(): void {
    this.#link.abort();
  }

  end(): void {
    this.#cancelSilence?.();
    this.#cancelEnd?.();
    // Aborts a pending check, whose answer would restart the silence timer.
    this.#link.abort();
  }
}
