import { createCa, issueLeaf } from '../../src/net/ca.ts';
import { queryEnvironment } from '../run/as-rendered.ts';
import type { Stage as BenchStage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import type { AgentsCost, AgentsOptions } from './stand-ins.ts';
import { ApiClient } from './ask.ts';
import { startPart, type Part } from './process.ts';
import type { ProcessCost, ServerOptions } from './server.ts';

/** One process that stands in for all agents, a query server over it, and a client of the query server. */
export interface StandInStage {
  readonly fleet: Part<{ port: number }, AgentsCost>;
  readonly server: Part<{ port: number }, ProcessCost>;
  readonly client: ApiClient;
  readonly ca: string;
  /** Which process has which cores. */
  readonly cores: string;
}

export interface StageOptions extends Omit<AgentsOptions, 'tls'>, Pick<ServerOptions, 'pods' | 'pageDir'> {
  /** Folder for the CPU profiles of the agents' process and of the query server; empty for no profiles. */
  readonly profile: string;
}

/** Starts agents, and a query server over them on a core of its own; stops both after `use`. */
export async function withStandIns(
  { atEnd, say }: Pick<BenchStage, 'atEnd' | 'say'>,
  { agents, keep = false, profile, ...own }: StageOptions,
  use: (stage: StandInStage) => Promise<void>,
): Promise<void> {
  const { wrapper, saysAlone } = oneCore();
  say(`starting ${agents} agents`);
  const now = Date.now();
  const ca = await createCa({ commonName: 'svc-ca', now });
  const identity = async (commonName: string): Promise<{ cert: string; key: string; ca: string }> => {
    const dnsNames = [commonName, `${commonName}.svc-system.svc`, 'localhost'];
    const leaf = await issueLeaf(ca, { commonName, dnsNames, ipAddresses: ['127.0.0.1'] }, { now });
    return { cert: leaf.cert, key: leaf.key, ca: ca.cert };
  };
  const tls = await identity('svc-agent');
  const fleet = await startPart<{ port: number }, AgentsCost>(
    'stand-ins.ts',
    { agents, tls, keep },
    { atEnd, profile },
  );
  const expected = Array.from({ length: agents }, (_, i) => ({
    node: `node-${i}`,
    address: `127.0.${i >> 7}.${(i & 127) + 1}`,
    absence: undefined,
    nodeReady: true,
    // All agents share one certificate, as those of earlier versions did: a handshake costs the same.
    shared: [`127.0.${i >> 7}.${(i & 127) + 1}`],
  }));
  const options = { agents: expected, agentPort: fleet.started.port, tls: await identity('svc-query'), ...own };
  const server = await startPart<{ port: number }, ProcessCost>('server.ts', options, {
    atEnd,
    profile,
    wrapper,
    env: queryEnvironment,
  });
  const client = new ApiClient(server.started.port, ca.cert);
  try {
    const cores = saysAlone('query server', 'the process of all agents, and callers');
    await use({ fleet, server, client, ca: ca.cert, cores });
  } finally {
    client.close();
    await server.stop();
    await fleet.stop();
  }
}
