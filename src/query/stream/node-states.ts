import type { Clock } from '../../base/clock.ts';
import { type NodeState, statusMessage, type StreamMessage } from '../../stream/index.ts';
import type { FailureReason } from '../fanout/failure.ts';
import { relayName } from './reader-queue.ts';

/** Changes within this time are reported together. Units: ms. */
const gatherMs = 50;

/** The state of a node for a failure: unavailable when its agent did not answer, otherwise an error. */
export function stateOf(reason: FailureReason): NodeState {
  return reason === 'unreachable' || reason === 'timeout' ? 'NODE_UNAVAILABLE' : 'NODE_ERROR';
}

/** Reports to a reader which nodes come, go and fail: one message for all nodes of the same state and text. */
export class NodeStates {
  readonly #clock: Clock;
  readonly #send: (message: StreamMessage) => void;
  #pending: { readonly state: NodeState; readonly node: string; readonly message: string | undefined }[] = [];
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, send: (message: StreamMessage) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  add(state: NodeState, node: string, message?: string): void {
    this.#pending.push({ state, node, message });
    this.#cancel ??= this.#clock.setTimeout(() => this.flush(), gatherMs);
  }

  /** Drops pending reports. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#pending = [];
  }

  /** Sends the pending reports. Reports of one node keep their order. */
  flush(): void {
    const pending = this.#pending;
    this.stop();
    const groups: { state: NodeState; message: string | undefined; nodes: string[] }[] = [];
    for (const { state, node, message } of pending) {
      const before = groups.findLastIndex(({ nodes }) => nodes.includes(node));
      const same = groups.findIndex((group, i) => i > before && group.state === state && group.message === message);
      if (same < 0) groups.push({ state, message, nodes: [node] });
      else groups[same]!.nodes.push(node);
    }
    for (const { state, message, nodes } of groups) {
      const speaker = nodes.length === 1 ? nodes[0]! : relayName;
      this.#send(statusMessage(state, speaker, this.#clock.now(), { nodes: nodes.sort(), message }));
    }
  }
}
