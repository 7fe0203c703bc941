import { agentEnvironment, queryEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import type { AgentsCost, AgentsStarted, AgentsWork } from './agents.ts';
import { ApiClient } from './ask.ts';
import { startPart, type Part } from './process.ts';
import type { ProcessCost } from './server.ts';

/** Agents, a query server over them, and a client of it. */
export interface QueryStage {
  readonly fleet: Part<AgentsStarted, AgentsCost>;
  readonly server: Part<{ port: number }, ProcessCost>;
  readonly client: ApiClient;
  readonly ca: string;
  /** The time of the last sample. Units: ms. */
  readonly end: number;
  readonly cores: string;
}

/**
 * Starts agents, query server and client, and stops them after `use`. The query server has a core of its own; agents
 * and client share the rest.
 */
export async function withAgents(
  { atEnd, say }: Pick<Stage, 'atEnd' | 'say'>,
  { agents, series, profile }: Pick<AgentsWork, 'agents' | 'series'> & { profile: string },
  use: (stage: QueryStage) => Promise<void>,
): Promise<void> {
  const { wrapper, saysAlone } = oneCore();
  const end = Math.floor(Date.now() / 60_000) * 60_000;
  say(`starting ${agents} agents of ${series} series`);
  const fleet = await startPart<AgentsStarted, AgentsCost>(
    'agents.ts',
    { agents, series, end },
    {
      atEnd,
      env: agentEnvironment,
    },
  );
  const { port: agentPort, agents: expected, tls, ca } = fleet.started;
  const server = await startPart<{ port: number }, ProcessCost>(
    'server.ts',
    { agents: expected, agentPort, tls },
    { atEnd, wrapper, profile, env: queryEnvironment },
  );
  const client = new ApiClient(server.started.port, ca);
  try {
    await use({ fleet, server, client, ca, end, cores: saysAlone('query server', 'all agents and the client') });
  } finally {
    client.close();
    await server.stop();
    await fleet.stop();
  }
}

/** The state of the caches, as every benchmark over many agents reports it. */
export const agentCaches =
  'warm: each question was asked before; every agent computes each answer anew, from its own store in memory';
