import type { ExpectedAgent } from '../../api/agents/expected-agents.ts';
import { agentIdentity } from '../../api/agents/agent-certificate.ts';
import type { AgentServerName } from '../../api/agents/agent-certificate.ts';

export type { ExpectedAgent };

/** A node that left, with the time range for which its data is missing. Units: ms. */
export interface DepartedNode {
  readonly node: string;
  /** Start of the missing range: older samples never existed or would be past retention. */
  readonly fromMs: number;
  /** When the node left: it has no younger sample. */
  readonly leftMs: number;
  /** The text of the warning. Set only for an entry that represents several nodes that cannot be named. */
  readonly note?: string;
}

/** The agents that should answer a query, as of now. */
export interface AgentDirectory {
  /** Sorted by node name, one agent for each node. */
  agents(): readonly ExpectedAgent[];
  /** Whether the view of the cluster is complete enough to know which nodes are missing. */
  readonly synced: boolean;
  /**
   * Nodes that left and whose samples would still be within retention. Absent where departures are not tracked. Sorted
   * by node and time: a name may appear several times, once for each machine that had it.
   */
  departed?(): readonly DepartedNode[];
}

/** Returns the name that an agent's certificate must have. The answer of a server with another name does not count. */
export type AgentNames = (agent: Pick<ExpectedAgent, 'node' | 'shared'>, address: string) => AgentServerName;

/** The certificate names of the agents whose operator runs in `namespace`. */
export function agentNames(namespace: string): AgentNames {
  return ({ node, shared }, address) => agentIdentity(node, namespace, shared?.includes(address) ?? false);
}
