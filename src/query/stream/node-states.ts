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

interface Report {
  readonly state: NodeState;
  readonly node: string;
  readonly message: string | undefined;
  /** The node is not of the cluster any more. */
  readonly gone: boolean;
}

/** Reports to a reader which nodes come, go and fail: one message for all nodes of the same state and text. */
export class NodeStates {
  readonly #clock: Clock;
  readonly #send: (message: StreamMessage) => void;
  #pending: Report[] = [];
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, send: (message: StreamMessage) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  add(state: NodeState, node: string, message?: string): void {
    this.#push({ state, node, message, gone: false });
  }

  /** Reports that a node is not of the cluster any more. */
  left(node: string): void {
    this.#push({ state: 'NODE_UNAVAILABLE', node, message: 'the node has left', gone: true });
  }

  #push(report: Report): void {
    this.#pending.push(report);
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
    const groups: (Omit<Report, 'node'> & { readonly nodes: string[] })[] = [];
    for (const { node, ...report } of pending) {
      const { state, message, gone } = report;
      const before = groups.findLastIndex(({ nodes }) => nodes.includes(node));
      const isSame = (group: Omit<Report, 'node'>): boolean =>
        group.state === state && group.message === message && group.gone === gone;
      const same = groups.findIndex((group, i) => i > before && isSame(group));
      if (same < 0) groups.push({ ...report, nodes: [node] });
      else groups[same]!.nodes.push(node);
    }
    for (const { state, message, gone, nodes } of groups) {
      const speaker = nodes.length === 1 ? nodes[0]! : relayName;
      this.#send(statusMessage(state, speaker, this.#clock.now(), { nodes: nodes.sort(), message, gone }));
    }
  }
}
