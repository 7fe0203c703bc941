import type { ExpectedAgent } from '../../api/agents/expected-agents.ts';
import { agentIdentity } from '../../api/agents/agent-certificate.ts';
import type { AgentServerName } from '../../api/agents/agent-certificate.ts';

export type { ExpectedAgent };

/** A node that left, with the times of which nobody can answer for it now. Units: ms. */
export interface DepartedNode {
  readonly node: string;
  /** No sample of it is older, or would be kept any more. */
  readonly fromMs: number;
  /** When it left: no sample of it is younger. */
  readonly leftMs: number;
  /** What a warning says of it, where it stands for nodes that cannot be named. */
  readonly note?: string;
}

/** Who should answer a query, as of now. */
export interface AgentDirectory {
  /** Sorted by node name, one agent for each node. */
  agents(): readonly ExpectedAgent[];
  /** Whether the view of the cluster is complete enough to compute missing nodes from. */
  readonly synced: boolean;
  /**
   * Nodes that left and would, had they stayed, still have samples of some time; where that is known. In order of
   * nodes and times: a name may stand there several times, for one machine after the other.
   */
  departed?(): readonly DepartedNode[];
}

/** What the certificate at one of an agent's addresses must say for its answer to count. */
export type AgentNames = (agent: Pick<ExpectedAgent, 'node' | 'shared'>, address: string) => AgentServerName;

/** The names of the agents whose operator runs in that namespace. */
export function agentNames(namespace: string): AgentNames {
  return ({ node, shared }, address) => agentIdentity(node, namespace, shared?.includes(address) ?? false);
}

/** A directory that never changes, for tests and tools. */
export function fixedDirectory(
  agents: readonly ExpectedAgent[],
  departed: readonly DepartedNode[] = [],
): AgentDirectory {
  const sorted = [...agents].sort((a, b) => (a.node < b.node ? -1 : 1));
  return { agents: () => sorted, synced: true, departed: () => departed };
}
