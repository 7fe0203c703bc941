/** One node that should answer, and the agent that speaks for it. */
export interface ExpectedAgent {
  /** Node name; also the value of `k8s_node_name` on every series of the agent. */
  readonly node: string;
  /** Pod IP; undefined when the node has no agent pod with an address: then `absence` says why. */
  readonly address: string | undefined;
  readonly absence: string | undefined;
  /** Addresses of further agents that speak for the node, during a rolling update: all of them are needed. */
  readonly more?: readonly string[];
  /** False when Kubernetes has given the node up: its agent is asked, but not waited for long. */
  readonly nodeReady: boolean;
}

/** Who should answer a query, as of now. */
export interface AgentDirectory {
  /** Sorted by node name, one agent for each node. */
  agents(): readonly ExpectedAgent[];
  /** Whether the view of the cluster is complete enough to compute missing nodes from. */
  readonly synced: boolean;
  /** Nodes that had an agent and left in the last so many milliseconds, where that is known. */
  departed?(withinMs: number): readonly string[];
}

/** A directory that never changes, for tests and tools. */
export function fixedDirectory(agents: readonly ExpectedAgent[]): AgentDirectory {
  const sorted = [...agents].sort((a, b) => (a.node < b.node ? -1 : 1));
  return { agents: () => sorted, synced: true };
}
