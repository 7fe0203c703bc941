import type { AgentClient } from '../../capture/index.ts';

/** The way to one agent, and what goes over it at the moment. */
export interface Link {
  readonly host: string;
  readonly client: AgentClient;
  readonly abort: AbortController;
  pushing: boolean;
  learning: boolean;
  delivering: boolean;
  /** Revision of the secrets that this agent took; an agent that restarts says by its status that it has none. */
  delivered: string;
}

export function newLink(host: string, client: AgentClient): Link {
  const abort = new AbortController();
  return { host, client, abort, pushing: false, learning: false, delivering: false, delivered: '' };
}
