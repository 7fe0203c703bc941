import type { AgentClient } from '../../capture/index.ts';
import type { AgentPod } from './facts.ts';

/** The way to one agent, and what goes over it at the moment. */
export interface Link {
  readonly peer: Pick<AgentPod, 'host' | 'isShared'>;
  readonly client: AgentClient;
  readonly abort: AbortController;
  pushing: boolean;
  learning: boolean;
  delivering: boolean;
  /** Revision of the secrets that this agent took; an agent that restarts says by its status that it has none. */
  delivered: string;
}

export function newLink(peer: Link['peer'], client: AgentClient): Link {
  const abort = new AbortController();
  return { peer, client, abort, pushing: false, learning: false, delivering: false, delivered: '' };
}

/** Whether a link leads to where a node's agent is now, and expects the certificate that it has now. */
export function isSamePeer(agent: AgentPod | undefined, { peer }: Link): boolean {
  return agent?.host === peer.host && agent.isShared === peer.isShared;
}
