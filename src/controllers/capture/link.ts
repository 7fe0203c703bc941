import type { AgentClient } from '../../capture/index.ts';
import type { AgentPod } from './facts.ts';

/** The connection to one agent, and the calls in flight on it. */
export interface Link {
  readonly peer: Pick<AgentPod, 'host' | 'isShared'>;
  readonly client: AgentClient;
  readonly abort: AbortController;
  pushing: boolean;
  learning: boolean;
  delivering: boolean;
  /** Revision of the secrets that this agent took; after a restart the agent reports none. */
  delivered: string;
}

export function newLink(peer: Link['peer'], client: AgentClient): Link {
  const abort = new AbortController();
  return { peer, client, abort, pushing: false, learning: false, delivering: false, delivered: '' };
}

/** Whether a link uses the current address of a node's agent, and expects its current certificate. */
export function isSamePeer(agent: AgentPod | undefined, { peer }: Link): boolean {
  return agent?.host === peer.host && agent.isShared === peer.isShared;
}
