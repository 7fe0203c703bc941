/**
 * Many agents in one process: each with a store of its own (in memory) behind the agents' real handlers and mutual TLS.
 * The agents share nothing: each computes its share of a query, as on a node. In a cluster the agents compute in
 * parallel, here one after the other on the cores of this process.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { systemClock } from '../../src/base/clock.ts';
import { startAgentCluster, type ClusterPart } from '../../src/testing/query/agent-cluster.ts';
import type { KeyPairPem } from '../../src/net/ca.ts';
import type { TlsMaterial } from '../../src/net/tls-material.ts';
import type { ExpectedAgent } from '../../src/query/index.ts';
import { fill } from './data.ts';

export interface AgentsWork {
  readonly agents: number;
  /** Series of each agent. */
  readonly series: number;
  /** The time of the last sample. Units: ms. */
  readonly end: number;
  /** The cluster that earlier processes began, and that this process continues. Default: none. */
  readonly part?: ClusterPart;
}

/** Where a query server finds the agents, and the TLS material that it needs to connect. */
export interface AgentsStarted {
  readonly port: number;
  readonly agents: readonly ExpectedAgent[];
  readonly tls: TlsMaterial;
  readonly ca: string;
  /** Signs the certificates of agents in further processes. */
  readonly authority: KeyPairPem;
}

/** What the agents have cost so far. */
export interface AgentsCost {
  readonly cpuMs: number;
  /** Bytes sent to query servers. */
  readonly bytes: number;
}

const [{ agents, series, end, part }] = (await once(process, 'message')) as [AgentsWork];
const nodes = Array.from({ length: agents }, (_, i) => `node-${(part?.before ?? 0) + i}`);
const cluster = await startAgentCluster(nodes, systemClock, undefined, '', part);
const sockets = new Set<Socket>();
let closedBytes = 0;
for (const agent of cluster.agents) {
  await fill(agent.store, series, end);
  agent.misbehave = (req, res) => {
    const { socket } = req;
    if (!sockets.has(socket)) {
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        closedBytes += socket.bytesWritten;
      });
    }
    agent.serve(req, res);
  };
}
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const bytes = [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, closedBytes);
  process.send!({ cpuMs: (user + system) / 1000, bytes } satisfies AgentsCost);
});
const started: AgentsStarted = {
  port: cluster.port,
  agents: cluster.expected,
  tls: cluster.tls.current,
  ca: cluster.ca.cert,
  authority: cluster.ca,
};
process.send!(started);
