import { type Clock, sleep } from '../../base/clock.ts';
import { changeCount } from '../../base/collections/counts.ts';
import { errorText } from '../../base/errors.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { Logger } from '../../base/logger.ts';
import { fairPlaces } from '../../base/turns/gate.ts';
import { concerns, statusMessage, type StreamMessage, type StreamRequest } from '../../stream/index.ts';
import type { AgentDirectory, ExpectedAgent } from '../agents/directory.ts';
import { ApiError } from '../api/api-error.ts';
import type { AddressIndex } from '../addresses/address-index.ts';
import type { AgentStreamReader, Received } from './agent-stream.ts';
import { FollowNodes } from './follow-nodes.ts';
import type { StreamMetrics } from './metrics.ts';
import { EndNamer } from './name-ends.ts';
import { NodeStates, stateOf } from './node-states.ts';
import { OrderBuffer } from './order-buffer.ts';
import { readHistory, withoutCursor } from './read-history.ts';
import { ReaderQueue, relayName, type StreamSink } from './reader-queue.ts';
import { sameSet, visibleNamespaces } from './scope.ts';
import { type StreamPlan, streamPlan } from './stream-plan.ts';

export interface StreamRelayOptions {
  readonly directory: AgentDirectory;
  readonly read: AgentStreamReader;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: StreamMetrics;
  /** An agent's deadline for the start of its answer, and between two pieces of a finite answer. Units: ms. */
  readonly agentTimeoutMs: number;
  readonly maxClients: number;
  /** The owners of addresses; without it the ends of spans and flows stay as agents name them. */
  readonly addresses?: AddressIndex | undefined;
}

type Namespaces = ReadonlySet<string> | undefined;

export interface StreamCall {
  readonly request: StreamRequest;
  /** Readers with the same caller share a limit of places. Undefined: not identified, and without such a limit. */
  readonly caller: string | undefined;
  /** The namespaces that the reader may see; undefined: everything. */
  readonly namespaces: Namespaces;
  /**
   * Repeats the review of the right to read. Errors: ApiError when the right to read has ended, or could not be
   * reviewed (`unavailable`).
   */
  readonly review: () => Promise<Namespaces>;
}

const holdMs = 1_000;
const itemsPerAgent = 100;
const maxItems = 10_000;
const orderBytes = 4 * 1024 * 1024;
/** The largest number of bytes queued for one slow reader. */
const queueBytes = 4 * 1024 * 1024;
/** Interval of reviewing a follower's rights. Units: ms. */
const reviewMs = 10_000;
/** A stream whose rights could not be reviewed for this long is ended. Units: ms. */
const unreviewedMs = 60_000;

/**
 * Serves a stream of the spans and flows of all agents, in order of time, to each of many readers.
 * Guarantees: an agent that fails, refuses or lies causes a `node_status` and never ends the stream; agents and other
 * readers never wait for a slow reader; the memory of a reader is bounded; a reader never receives data of a namespace
 * that it may not see, whatever agents send; when a reader leaves, its connections to agents are closed.
 */
export class StreamRelay {
  readonly #options: StreamRelayOptions;
  readonly #stop = new AbortController();
  #clients = 0;
  readonly #clientsOf = new Map<string, number>();

  constructor(options: StreamRelayOptions) {
    this.#options = options;
  }

  /**
   * Admits a reader. The returned function takes the sink of the reader's messages; the caller must call it
   * immediately, and it resolves at the end of the stream.
   * Errors: ERR_INPUT_INVALID that names the field; ApiError `unavailable` when there are too many readers, or too many
   * of this caller, or agents are not listed yet.
   */
  open(call: StreamCall): (sink: StreamSink) => Promise<void> {
    const { clock, directory, metrics, logger } = this.#options;
    const { caller } = call;
    if (this.#stop.signal.aborted) throw new ApiError('unavailable', 'the server is stopping');
    if (!directory.synced) throw new ApiError('unavailable', 'the list of agents is not complete yet');
    const refusal = this.#refusal(caller);
    if (refusal !== null) {
      metrics.refused();
      throw new ApiError('unavailable', refusal);
    }
    const plan = streamPlan(call.request, clock.now());
    return async (sink) => {
      metrics.clients(++this.#clients);
      if (caller !== undefined) changeCount(this.#clientsOf, caller, 1);
      try {
        await this.#serve(plan, call, sink);
      } catch (error) {
        if (!sink.gone.aborted) {
          logger.warn('stream broke off', { error: errorText(error) });
          throw error;
        }
      } finally {
        metrics.clients(--this.#clients);
        if (caller !== undefined) changeCount(this.#clientsOf, caller, -1);
      }
    };
  }

  /**
   * Why there is no place for one more reader of this caller; null if there is. One caller gets at most half of the
   * places, rounded up (`fairPlaces`), and the last quarter is for callers who have none.
   */
  #refusal(caller: string | undefined): string | null {
    const { maxClients } = this.#options;
    if (this.#clients >= maxClients) {
      return `there are ${maxClients} readers of the stream already, the most that are served`;
    }
    const own = caller === undefined ? 0 : (this.#clientsOf.get(caller) ?? 0);
    if (own === 0) return null;
    if (own >= fairPlaces(maxClients).perUser) {
      return `you have ${own} readers of the stream, the most of one user among ${maxClients}`;
    }
    const kept = Math.floor(maxClients / 4);
    if (this.#clients < maxClients - kept) return null;
    return `all places of the stream are taken but those for users who have none: ${kept} of ${maxClients}`;
  }

  /** Ends every stream; followers get a message about it. */
  close(): void {
    this.#stop.abort(new Error('server is stopping'));
  }

  async #serve(plan: StreamPlan, call: StreamCall, sink: StreamSink): Promise<void> {
    const { clock, metrics, addresses } = this.#options;
    // Writes are serialised: messages about nodes may come at any time.
    let written = Promise.resolve();
    let { namespaces } = call;
    const namer = addresses && new EndNamer(addresses, () => namespaces);
    const write = (messages: readonly StreamMessage[]): Promise<void> => {
      if (messages.length === 0) return written;
      const named = namer ? messages.map((message) => namer.named(message)) : messages;
      return (written = written.then(() => (sink.gone.aborted ? undefined : sink.write(named))));
    };
    const queue = new ReaderQueue({
      maxBytes: queueBytes,
      now: () => clock.now(),
      onLost: (count) => metrics.lost('relay', count),
    });
    let live = false;
    const states = new NodeStates(clock, (message) => {
      if (live) queue.tell(message);
      else void write([message]).catch(() => {});
    });
    let scope = visibleNamespaces(plan.namespaces, call.namespaces);
    const follow = this.#liveItems(plan, queue, states, () => scope);
    const { nodes } = follow;
    const over = new LinkedAbort(sink.gone, this.#stop.signal);
    const { signal } = over;
    try {
      if (scope?.size !== 0) {
        nodes.tellAbsent();
        states.flush();
        if (plan.number > 0) await this.#history(plan, requestOf(plan, scope), nodes, states, write, signal);
      }
      states.flush();
      await written;
      if (!plan.follow || signal.aborted) return;
      live = true;
      const ended = new AbortController();
      const drained = queue.drain({ write, gone: sink.gone }, ended.signal);
      drained.catch(() => {}); // awaited below; the reader may leave before that
      if (scope?.size !== 0) nodes.start(requestOf(plan, scope));
      const last = await this.#whileAllowed(call, signal, (allowed) => {
        namespaces = allowed;
        const next = visibleNamespaces(plan.namespaces, allowed);
        if (sameSet(next, scope)) return;
        scope = next;
        if (scope?.size === 0) nodes.stop();
        else nodes.start(requestOf(plan, scope));
      });
      follow.stop();
      states.flush();
      if (last) queue.tell(last);
      ended.abort();
      await drained;
    } finally {
      over.release();
      follow.stop();
      states.stop();
    }
  }

  async #history(
    plan: StreamPlan,
    request: StreamRequest,
    nodes: FollowNodes,
    states: NodeStates,
    write: (messages: readonly StreamMessage[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { directory, read, clock, agentTimeoutMs, metrics } = this.#options;
    const agents: readonly ExpectedAgent[] = directory.agents().filter(({ node }) => plan.wants(node));
    await readHistory(agents, plan, request, {
      ...{ read, clock, agentTimeoutMs, signal, write },
      onLost: (source, count) => metrics.lost(source, count),
      onCursor: (agent, cursor) => nodes.stoodAt(agent, cursor),
      onFailure: (agent, failure) => {
        metrics.failed(failure.reason);
        nodes.failed(agent, failure.reason);
        states.add(stateOf(failure.reason), agent.node, failure.message);
      },
    });
  }

  /** Sorts new items of the agents by time and puts them into the queue. */
  #liveItems(
    plan: StreamPlan,
    queue: ReaderQueue,
    states: NodeStates,
    scope: () => Namespaces,
  ): { readonly nodes: FollowNodes; readonly stop: () => void } {
    const { clock, directory, read, agentTimeoutMs, metrics } = this.#options;
    const items = (): number => Math.min(maxItems, itemsPerAgent * Math.max(1, nodes.size));
    const order = new OrderBuffer({ holdMs, items, maxBytes: orderBytes });
    let cancel: (() => void) | undefined;
    const goOn = (ready: readonly Received[]): void => {
      const visible = scope();
      for (const { message, bytes } of ready) {
        if (visible && !concerns(message, visible)) continue;
        queue.push({ message: withoutCursor(message), bytes });
      }
    };
    const arm = (): void => {
      if (cancel !== undefined || order.due === undefined) return;
      cancel = clock.setTimeout(
        () => {
          cancel = undefined;
          goOn(order.take(clock.monotonic()));
          arm();
        },
        Math.max(1, order.due - clock.monotonic()),
      );
    };
    const nodes: FollowNodes = new FollowNodes({
      ...{ directory, read, clock, agentTimeoutMs, plan, states },
      onItem: (item) => {
        const now = clock.monotonic();
        order.push(item, now);
        goOn(order.take(now));
        arm();
      },
      onLost: (message) => {
        metrics.lost(message.lost!.source, message.lost!.count);
        queue.tell(withoutCursor(message));
      },
      onFailure: ({ reason }) => metrics.failed(reason),
    });
    const stop = (): void => {
      nodes.stop();
      cancel?.();
      cancel = undefined;
      goOn(order.take(Infinity));
    };
    return { nodes, stop };
  }

  /**
   * Waits for the end of a follower, reviewing its rights on the way. Returns the last message to it, if there is one.
   */
  async #whileAllowed(
    { review }: StreamCall,
    signal: AbortSignal,
    onAllowed: (namespaces: Namespaces) => void,
  ): Promise<StreamMessage | undefined> {
    const { clock } = this.#options;
    let reviewedAt = clock.monotonic();
    while (!signal.aborted) {
      await sleep(clock, reviewMs, signal).catch(() => {});
      if (signal.aborted) break;
      try {
        onAllowed(await review());
        reviewedAt = clock.monotonic();
      } catch (error) {
        const away = error instanceof ApiError && error.errorType === 'unavailable';
        if (away && clock.monotonic() - reviewedAt < unreviewedMs) continue;
        return this.#lastWord('NODE_ERROR', errorText(error));
      }
    }
    return this.#stop.signal.aborted ? this.#lastWord('NODE_UNAVAILABLE', 'svc-query is ending') : undefined;
  }

  #lastWord(state: 'NODE_ERROR' | 'NODE_UNAVAILABLE', message: string): StreamMessage {
    return statusMessage(state, relayName, this.#options.clock.now(), { nodes: [], message });
  }
}

/** The request to the agents, restricted to the visible namespaces. */
function requestOf({ base }: StreamPlan, scope: Namespaces): StreamRequest {
  return scope === undefined ? base : { ...base, namespaces: [...scope].sort() };
}
