import type { KubeObject } from '../../api/meta.ts';
import { isObject } from '../../base/text/texts.ts';
import {
  apiError,
  isConnectionRefused,
  isGone,
  isInvalid,
  isResourceVersionTooLarge,
  isTooManyRequests,
  retryAfterMs,
} from '../../kube/index.ts';
import { quietMs } from '../backoff.ts';

/**
 * The life cycle of one list-and-watch as data: `(state, input) → (state, effects)`. No I/O, no clock, no randomness,
 * so every transition is a table test. The reflector performs the effects.
 *
 * Resource versions are opaque: they are kept and sent back, never parsed or ordered.
 */
export type WatchState = Common &
  (
    | { phase: 'idle' }
    /** Collecting pages of a list. */
    | { phase: 'paging'; items: KubeObject[]; next: string | undefined }
    /** Collecting the initial events of a streaming list. */
    | { phase: 'streaming'; items: Map<string, KubeObject> }
    /** The cache is complete; `rv` is the version to continue from. */
    | { phase: 'watching'; rv: string }
  );

interface Common {
  /** Failures since the last quiet period. */
  failures: number;
  /** Monotonic ms of the latest failure. */
  failedAt: number;
  /**
   * The next list is read from the server's storage, in pages. Otherwise it comes from the server's cache: in one
   * answer, because the server then ignores the limit, and possibly from behind the version that we know.
   */
  fromStorage: boolean;
  /** The most objects of one page. */
  pageSize: number;
  /** Whether to ask for lists as streams (`sendInitialEvents`); `off` after the server has shown that it sends none. */
  streamingList: 'try' | 'off';
  /** The next list is not streamed, although later ones may be: streams have just failed. */
  plainNext: boolean;
}

/** Why a request or stream failed. */
export type FailureKind =
  /** 410: the version or the continue token is too old. */
  | 'expired'
  /** The server lags behind the version that we know. */
  | 'too-large-rv'
  /** The request itself was refused as invalid. */
  | 'rejected'
  /** The answer to a list exceeds the size cap of an answer. */
  | 'too-large'
  /** 404 of an optional kind. */
  | 'absent'
  /** The server refuses connections, or has too many requests (429). */
  | 'unavailable'
  /** The stream fell silent. */
  | 'silent'
  /** Anything else: connection lost, 401, 403, 404, 5xx, unreadable frame. */
  | 'other';

/** The kind of failure that an error of the API server is. Pure. */
export function failureKind(error: unknown): FailureKind {
  if (isGone(error)) return 'expired';
  if (isResourceVersionTooLarge(error)) return 'too-large-rv';
  if (isInvalid(error)) return 'rejected';
  return isTooManyRequests(error) || isConnectionRefused(error) ? 'unavailable' : 'other';
}

export type WatchInput =
  /** The wait has ended (or this is the start): make the next request. */
  | { type: 'proceed' }
  | { type: 'page'; items: readonly KubeObject[]; resourceVersion: string; next: string | undefined }
  | { type: 'frame'; frame: { type: string; object: unknown } }
  /** The server ended the stream normally. */
  | { type: 'closed'; lastedMs: number; frames: number; now: number }
  | { type: 'failed'; kind: FailureKind; retryAfterMs: number; now: number };

export type WatchEffect =
  | { do: 'list'; resourceVersion: string; limit: number; next: string | undefined }
  | { do: 'watch'; resourceVersion: string; initialEvents: boolean }
  /** The complete set of objects. */
  | { do: 'replace'; items: readonly KubeObject[] }
  | { do: 'upsert'; object: KubeObject }
  | { do: 'remove'; object: KubeObject }
  /** There are no objects, which is a valid state. */
  | { do: 'clear' }
  /** Continue after at least `atLeastMs`, and after the back-off of `failures` unless that is 0. */
  | { do: 'wait'; failures: number; atLeastMs: number }
  /** Close the stream: its data cannot be used. The reflector reports it as a failure. */
  | { do: 'abandon'; kind: FailureKind; reason: string; retryAfterMs: number };

export interface WatchStep {
  state: WatchState;
  effects: readonly WatchEffect[];
}

export interface Watched {
  apiVersion: string;
  kind: string;
  /** Reduces an object to what is kept of it, as soon as it arrives: an unfinished list holds no more than that. */
  keep(object: KubeObject): KubeObject;
}

/** A watch that ends sooner than this, without a single frame, is a failure, not a server-side timeout. Units: ms. */
const veryShortMs = 1_000;

/** Interval between two requests for a missing optional kind. Units: ms. */
const absentWaitMs = 15_000;

const initialEventsEnd = 'k8s.io/initial-events-end';

/**
 * `selective`: the source has a selector, so its objects may be few among many. To select in storage, the server reads
 * all objects of the kind, which is too much if a process on every node lists the pods of its node: such a source is
 * listed from the server's cache. All objects of a kind may be too many for one answer, and for the memory of this
 * process while it reads that: a source without a selector is listed from storage, in pages of `pageSize` objects.
 */
export function initialWatchState(options: {
  streamingList: boolean;
  selective: boolean;
  pageSize: number;
}): WatchState {
  return {
    phase: 'idle',
    failures: 0,
    failedAt: -Infinity,
    fromStorage: !options.selective,
    pageSize: options.pageSize,
    streamingList: options.streamingList ? 'try' : 'off',
    plainNext: false,
  };
}

/** Makes one transition. Pure, except that it fills the collected items of a list in place. */
export function stepWatch(state: WatchState, input: WatchInput, watched: Watched): WatchStep {
  switch (input.type) {
    case 'proceed':
      return proceed(state);
    case 'page':
      return takePage(state, input, watched);
    case 'frame':
      return takeFrame(state, input.frame, watched);
    case 'closed':
      if (state.phase === 'watching' && (input.frames > 0 || input.lastedMs >= veryShortMs)) {
        // Without a pause, a server that closes every stream after one frame would be polled in a tight loop.
        const atLeastMs = input.lastedMs < veryShortMs ? 200 : 0;
        return { state, effects: [{ do: 'wait', failures: 0, atLeastMs }] };
      }
      return fail(state, { type: 'failed', kind: closedKind(state, input.lastedMs), retryAfterMs: 0, now: input.now });
    case 'failed':
      return fail(state, input);
  }
}

/** A streamed list that the server closes after its time has not marked its end, as one that fell silent. */
function closedKind(state: WatchState, lastedMs: number): FailureKind {
  return state.phase === 'streaming' && lastedMs > quietMs ? 'silent' : 'other';
}

function proceed(state: WatchState): WatchStep {
  if (state.phase === 'watching') {
    return { state, effects: [{ do: 'watch', resourceVersion: state.rv, initialEvents: false }] };
  }
  // An interrupted list starts over: its snapshot may no longer be available.
  if (state.streamingList === 'try' && !state.plainNext) {
    return {
      state: { ...common(state), phase: 'streaming', items: new Map() },
      effects: [{ do: 'watch', resourceVersion: '', initialEvents: true }],
    };
  }
  return {
    state: { ...common(state), phase: 'paging', items: [], next: undefined },
    // "0" lets the server answer from its cache; "" makes it read from storage.
    effects: [{ do: 'list', resourceVersion: state.fromStorage ? '' : '0', limit: state.pageSize, next: undefined }],
  };
}

function takePage(state: WatchState, page: Extract<WatchInput, { type: 'page' }>, { keep }: Watched): WatchStep {
  const items = state.phase === 'paging' ? state.items : [];
  for (const item of page.items) items.push(keep(item));
  if (page.next !== undefined) {
    return {
      state: { ...common(state), phase: 'paging', items, next: page.next },
      effects: [{ do: 'list', resourceVersion: '', limit: state.pageSize, next: page.next }],
    };
  }
  return complete(state, items, page.resourceVersion, true);
}

function complete(state: WatchState, items: readonly KubeObject[], rv: string, openWatch: boolean): WatchStep {
  const next: WatchState = { ...common(state), plainNext: false, phase: 'watching', rv };
  const effects: WatchEffect[] = [{ do: 'replace', items }];
  if (openWatch) effects.push({ do: 'watch', resourceVersion: rv, initialEvents: false });
  return { state: next, effects };
}

function takeFrame(state: WatchState, frame: { type: string; object: unknown }, watched: Watched): WatchStep {
  if (frame.type === 'ERROR') return { state, effects: [errorFrame(frame.object)] };
  const object = frame.object as KubeObject;
  const rv = object.metadata?.resourceVersion;
  if (object.kind !== watched.kind || object.apiVersion !== watched.apiVersion || !rv) {
    const found = `${String(object.apiVersion)} ${String(object.kind)}`;
    return abandon(state, `a ${frame.type} frame carries ${rv ? found : `${found} without a resourceVersion`}`);
  }
  if (frame.type === 'BOOKMARK') return takeBookmark(state, object, rv);
  if (frame.type !== 'ADDED' && frame.type !== 'MODIFIED' && frame.type !== 'DELETED') {
    return abandon(state, `unknown frame type ${frame.type}`);
  }
  if (!object.metadata.name) return abandon(state, `a ${frame.type} frame names no object`);
  if (state.phase === 'streaming') {
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    if (frame.type === 'DELETED') state.items.delete(key);
    else state.items.set(key, watched.keep(object));
    return { state, effects: [] };
  }
  return {
    state: { ...common(state), phase: 'watching', rv },
    effects: [{ do: frame.type === 'DELETED' ? 'remove' : 'upsert', object: watched.keep(object) }],
  };
}

function takeBookmark(state: WatchState, object: KubeObject, rv: string): WatchStep {
  if (state.phase !== 'streaming') return { state: { ...common(state), phase: 'watching', rv }, effects: [] };
  if (object.metadata.annotations?.[initialEventsEnd] === 'true') {
    return complete(state, [...state.items.values()], rv, false);
  }
  // A server that does not know sendInitialEvents ignores it and never marks the end.
  return {
    state: { ...common(state), phase: 'idle', streamingList: 'off' },
    effects: [{ do: 'abandon', kind: 'rejected', reason: 'the server streams no initial list', retryAfterMs: 0 }],
  };
}

function errorFrame(object: unknown): WatchEffect {
  const error = apiError('ERROR frame', isObject(object) ? Number(object['code'] ?? 0) : 0, object);
  const expired = error.reason === 'Expired' || error.reason === 'Gone';
  return {
    do: 'abandon',
    kind: expired ? 'expired' : failureKind(error),
    reason: error.message,
    retryAfterMs: retryAfterMs(error),
  };
}

function abandon(state: WatchState, reason: string): WatchStep {
  return { state, effects: [{ do: 'abandon', kind: 'other', reason, retryAfterMs: 0 }] };
}

function fail(state: WatchState, failure: Extract<WatchInput, { type: 'failed' }>): WatchStep {
  const failures = failure.now - state.failedAt > quietMs ? 1 : state.failures + 1;
  const plainNext = state.plainNext || (state.phase === 'streaming' && endsStreaming(failure.kind, failures));
  const base: Common = { ...common(state), plainNext, failures, failedAt: failure.now };
  const wait: WatchEffect = { do: 'wait', failures, atLeastMs: failure.retryAfterMs };
  switch (failure.kind) {
    case 'expired':
    case 'too-large-rv': {
      // A first expiry is normal for a quiet or long-interrupted watch: list without a wait. Repeated ones back off.
      const soon: WatchEffect = { do: 'wait', failures: failures > 1 ? failures : 0, atLeastMs: failure.retryAfterMs };
      return { state: { ...base, phase: 'idle', fromStorage: true }, effects: [soon] };
    }
    case 'rejected':
      if (state.streamingList === 'try' && state.phase !== 'watching') {
        return { state: { ...base, phase: 'idle', streamingList: 'off' }, effects: [{ ...wait, failures: 0 }] };
      }
      return { state: { ...base, ...resting(state) }, effects: [{ ...wait, failures: Math.max(1, failures) }] };
    case 'too-large': {
      // If a page was too large, its objects are: the next ones hold a quarter as many.
      const pageSize = state.fromStorage ? Math.max(1, Math.floor(state.pageSize / 4)) : state.pageSize;
      return { state: { ...base, phase: 'idle', fromStorage: true, pageSize }, effects: [wait] };
    }
    case 'absent':
      // Versions from before a kind was removed mean nothing after it returns: the next request is a list.
      return {
        state: { ...common(state), phase: 'idle', fromStorage: true },
        effects: [
          { do: 'clear' },
          { do: 'wait', failures: 0, atLeastMs: Math.max(absentWaitMs, failure.retryAfterMs) },
        ],
      };
    default:
      return { state: { ...base, ...resting(state) }, effects: [wait] };
  }
}

/**
 * Whether a failure of a streamed list makes the next one a plain list. A watch cache that does not catch up never marks
 * the end of a stream, while a plain list is read from storage. A server that is down or busy is spared the list: it
 * costs more memory than the stream. Source: client-go's reflector.
 */
function endsStreaming(kind: FailureKind, failures: number): boolean {
  return kind === 'silent' || kind === 'too-large-rv' || (failures > 1 && kind !== 'unavailable');
}

/** The state after a failure: a complete cache continues from its version, an unfinished list starts over. */
function resting(state: WatchState): { phase: 'watching'; rv: string } | { phase: 'idle' } {
  return state.phase === 'watching' ? { phase: 'watching', rv: state.rv } : { phase: 'idle' };
}

function common(state: WatchState): Common {
  const { failures, failedAt, fromStorage, pageSize, streamingList, plainNext } = state;
  return { failures, failedAt, fromStorage, pageSize, streamingList, plainNext };
}
