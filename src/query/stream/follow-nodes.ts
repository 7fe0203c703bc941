import type { Clock } from '../../base/clock.ts';
import type { StreamMessage, StreamRequest } from '../../stream/index.ts';
import type { AgentDirectory } from '../agents/directory.ts';
import type { AgentFailure, FailureReason } from '../fanout/failure.ts';
import type { AgentAddress, AgentStreamReader, Received } from './agent-stream.ts';
import { followAgent } from './follow-agent.ts';
import { type NodeStates, stateOf } from './node-states.ts';
import { addressesOf, headMs } from './read-history.ts';
import type { StreamPlan } from './stream-plan.ts';

export interface FollowNodesOptions {
  readonly directory: AgentDirectory;
  readonly read: AgentStreamReader;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
  readonly plan: StreamPlan;
  readonly states: NodeStates;
  readonly onItem: (item: Received) => void;
  readonly onLost: (message: StreamMessage) => void;
  readonly onFailure: (failure: AgentFailure) => void;
}

/** Interval of looking at the list of agents. Units: ms. */
const lookMs = 1_000;
/**
 * A cursor that no agent has given out: an agent then sends all that its ring (the buffer of the newest items) holds.
 */
const fromTheStart = '0.0';

/**
 * Follows the agents of the nodes that the plan of a request wants, also those that appear later, and reports agents
 * that leave or are absent.
 * An agent that is first seen after the first `start` is read from the beginning of its ring, because it began to run
 * only then.
 */
export class FollowNodes {
  readonly #options: FollowNodesOptions;
  readonly #cursors = new Map<string, string>();
  readonly #told = new Map<string, FailureReason>();
  readonly #following = new Map<string, { readonly agent: AgentAddress; readonly stop: AbortController }>();
  /** The nodes that the reader may know of. */
  readonly #nodes = new Set<string>();
  /** The text reported for each node without an agent to follow. */
  readonly #absent = new Map<string, string>();
  /** The agents that were there at the first start and have not left since. Undefined before it. */
  #early: Set<string> | undefined;
  #cancel = (): void => {};

  constructor(options: FollowNodesOptions) {
    this.#options = options;
  }

  /** Number of agents that are followed. */
  get size(): number {
    return this.#following.size;
  }

  /** Records the position of an agent's stream. */
  stoodAt({ node, address }: AgentAddress, cursor: string): void {
    this.#cursors.set(`${node} ${address}`, cursor);
  }

  /** Records a failure that has already been reported to the reader. */
  failed({ node, address }: AgentAddress, reason: FailureReason): void {
    this.#told.set(`${node} ${address}`, reason);
  }

  /**
   * Reports the wanted nodes that have no agent, and forgets those that have left. A text that was reported is not
   * repeated. A node that the request names does not leave: it stays without an agent.
   */
  tellAbsent(): void {
    const { directory, plan, states } = this.#options;
    const agents = directory.agents().filter(({ node }) => plan.wants(node));
    const known = new Set(agents.map(({ node }) => node));
    const named = (plan.named ?? []).filter((node) => plan.wants(node));
    const absent = new Map<string, string>();
    for (const { node, address, absence } of agents)
      if (address === undefined) absent.set(node, absence ?? 'no agent pod');
    for (const node of named) if (!known.has(node)) absent.set(node, 'no agent is expected on a node of this name');
    for (const node of this.#nodes) {
      if (known.has(node) || absent.has(node)) continue;
      states.left(node);
      this.#forget(node);
    }
    for (const node of known) this.#nodes.add(node);
    for (const [node, text] of absent) {
      if (this.#absent.get(node) !== text) states.add('NODE_UNAVAILABLE', node, text);
      this.#absent.set(node, text);
    }
    for (const node of this.#absent.keys()) if (!absent.has(node)) this.#absent.delete(node);
  }

  /** Begins, or begins again with another request: every agent is resumed at its last position. */
  start(request: StreamRequest): void {
    this.stop();
    const look = (): void => {
      this.tellAbsent();
      this.#keepUp(request);
      this.#cancel = this.#options.clock.setTimeout(look, lookMs);
    };
    look();
  }

  stop(): void {
    this.#cancel();
    for (const key of [...this.#following.keys()]) this.#end(key);
  }

  #keepUp(request: StreamRequest): void {
    const { directory, plan, agentTimeoutMs } = this.#options;
    const wanted = new Map(
      directory
        .agents()
        .filter(({ node }) => plan.wants(node))
        .flatMap((agent) => addressesOf(agent).map((one) => ({ one, limitMs: headMs(agent, agentTimeoutMs) })))
        .map((follower) => [`${follower.one.node} ${follower.one.address}`, follower]),
    );
    this.#early ??= new Set(wanted.keys());
    for (const key of [...this.#early, ...this.#following.keys()]) if (!wanted.has(key)) this.#leave(key);
    for (const [key, { one, limitMs }] of wanted) {
      const known = this.#following.get(key)?.agent;
      // The same address may now belong to another pod, which has another certificate.
      if (known && isShared(known) !== isShared(one)) this.#leave(key);
      if (!this.#following.has(key)) this.#begin(key, one, limitMs, request);
    }
  }

  #begin(key: string, agent: AgentAddress, headLimitMs: number, request: StreamRequest): void {
    const { read, clock, states, onItem, onLost, onFailure } = this.#options;
    const stop = new AbortController();
    this.#following.set(key, { agent, stop });
    const cursor = this.#cursors.get(key) ?? (this.#early?.has(key) ? undefined : fromTheStart);
    void followAgent(agent, {
      ...{ read, clock, request, cursor, headMs: headLimitMs, signal: stop.signal, told: this.#told.get(key) },
      onItem: (item) => stop.signal.aborted || onItem(item),
      onLost: (message) => stop.signal.aborted || onLost(message),
      onCursor: (next) => stop.signal.aborted || this.#cursors.set(key, next),
      onConnected: () => {
        if (stop.signal.aborted) return;
        this.#told.delete(key);
        states.add('NODE_CONNECTED', agent.node);
      },
      onFailure: (failure) => {
        this.#told.set(key, failure.reason);
        onFailure(failure);
        states.add(stateOf(failure.reason), agent.node, failure.message);
      },
    });
  }

  #forget(node: string): void {
    this.#nodes.delete(node);
    const isOfNode = (key: string): boolean => key.startsWith(`${node} `);
    for (const key of [...this.#following.keys()].filter(isOfNode)) this.#leave(key);
    for (const map of [this.#cursors, this.#told]) for (const key of [...map.keys()].filter(isOfNode)) map.delete(key);
  }

  #leave(key: string): void {
    this.#early?.delete(key);
    this.#end(key);
  }

  #end(key: string): void {
    this.#following.get(key)?.stop.abort(new Error('not followed any more'));
    this.#following.delete(key);
  }
}

function isShared({ address, shared }: AgentAddress): boolean {
  return shared?.includes(address) ?? false;
}
