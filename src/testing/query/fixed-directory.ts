import type { AgentDirectory, DepartedNode, ExpectedAgent } from '../../query/agents/directory.ts';

/** A directory of agents that never changes, for tests and tools. */
export function fixedDirectory(
  agents: readonly ExpectedAgent[],
  departed: readonly DepartedNode[] = [],
): AgentDirectory {
  const sorted = [...agents].sort((a, b) => (a.node < b.node ? -1 : 1));
  return { agents: () => sorted, synced: true, departed: () => departed };
}
