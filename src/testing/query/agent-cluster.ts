import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Clock } from '../../base/clock.ts';
import { createIndexHandler } from '../../agent/partial/index-handler.ts';
import { createPartialHandler } from '../../agent/partial/partial-handler.ts';
import { ExemplarRing } from '../../agent/exemplars/exemplar-ring.ts';
import type { Family } from '../../agent/mapping/series-table.ts';
import { createSelfMetrics } from '../../agent/self-metrics.ts';
import { detailsRoutes } from '../../agent/servers/details-server.ts';
import { indexRoute, partialRoute } from '../../agent/servers/framed-server.ts';
import { routed } from '../../agent/servers/routes.ts';
import { silentLogger } from '../../base/logger.ts';
import type { KeyPairPem } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { fixedTls } from '../../net/tls-material.ts';
import type { TlsSource } from '../../net/tls-material.ts';
import { createRemoteReadHandler, labelsFromObject, openStore } from '../../tsdb/index.ts';
import type { FileLayer, Labels, Store } from '../../tsdb/index.ts';
import type { ExpectedAgent } from '../../query/index.ts';
import { agentTls, loopbackTls, stageCa } from '../agent-tls.ts';
import { MemoryFiles } from '../tsdb/memory-files.ts';

/**
 * One simulated agent: a real store behind a real mutual-TLS port for remote reads and for the parts of queries that
 * agents compute.
 */
export interface SimulatedAgent {
  readonly node: string;
  readonly address: string;
  readonly store: Store;
  /** The data behind `query_exemplars` and `metadata`. */
  readonly exemplars: ExemplarRing;
  readonly families: Family[];
  /** When set, handles every request in place of the agent. */
  misbehave: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
  /** Answers like a healthy agent. A `misbehave` that concerns only some requests calls `serve` for all others. */
  serve(req: IncomingMessage, res: ServerResponse): void;
  /** Requests received. */
  requests: number;
  /** Closes the port, as a dead node does; the store keeps its data. */
  stop(): Promise<void>;
}

export interface AgentCluster {
  readonly port: number;
  readonly agents: readonly SimulatedAgent[];
  readonly expected: readonly ExpectedAgent[];
  /** Identity of the query server, trusted by the agents. */
  readonly tls: TlsSource;
  readonly ca: KeyPairPem;
  append(node: string, labels: Readonly<Record<string, string>>, tMs: number, value: number): void;
  close(): Promise<void>;
}

/** The parameters with which one more process adds agents to a cluster that several processes share. */
export interface ClusterPart {
  /** The CA of the first process. */
  readonly ca: KeyPairPem;
  /** The port of the first process's agents. */
  readonly port: number;
  /** Number of agents in the processes before this one. */
  readonly before: number;
}

/**
 * Starts agents on 127.0.0.1, 127.0.0.2, … and one common port, each with a store of its own.
 * `files` is called once for each agent, whose store is in `<root>/<node>`. `part` continues another process's cluster.
 * Flow: append samples, then query; `agents[i].stop()` or `.misbehave` make a node fail.
 */
export async function startAgentCluster(
  nodes: readonly string[],
  clock: Clock,
  files: () => FileLayer = () => new MemoryFiles(),
  root = '',
  part?: ClusterPart,
): Promise<AgentCluster> {
  const ca = part?.ca ?? (await stageCa());
  let port = part?.port ?? 0;
  const agents: SimulatedAgent[] = [];
  for (const [i, node] of nodes.entries()) {
    const agent = await startAgent(node, `127.0.0.${(part?.before ?? 0) + i + 1}`, {
      port,
      tls: fixedTls(await agentTls(ca, node)),
      clock,
      files: files(),
      dir: `${root}/${node}`,
    });
    port = agent.port;
    agents.push(agent.agent);
  }
  const cached = new Map<string, Labels>();
  return {
    port,
    agents,
    expected: agents.map(({ node, address }) => ({ node, address, absence: undefined, nodeReady: true })),
    tls: fixedTls(await loopbackTls(ca, 'svc-query')),
    ca,
    append: (node, labels, tMs, value) => {
      const store = agents.find((a) => a.node === node)!.store;
      const key = JSON.stringify(labels);
      let made = cached.get(key);
      if (!made) cached.set(key, (made = labelsFromObject(labels)));
      const result = store.append(made, tMs, value);
      if (result !== 'appended') throw new Error(`sample at ${tMs} was not appended: ${result}`);
    },
    close: async () => void (await Promise.all(agents.map(async (a) => (await a.stop(), await a.store.close())))),
  };
}

async function startAgent(
  node: string,
  address: string,
  { port, tls, clock, files, dir }: { port: number; tls: TlsSource; clock: Clock; files: FileLayer; dir: string },
): Promise<{ agent: SimulatedAgent; port: number }> {
  const externalLabels = labelsFromObject({ k8s_node_name: node });
  const store = await openStore({
    dir,
    files,
    clock,
    logger: silentLogger,
    externalLabels,
  });
  const read = createRemoteReadHandler(store, { partition: { label: 'k8s_node_name', value: node } });
  const metrics = createSelfMetrics({ node, version: '0' });
  const partial = createPartialHandler({ store, node, clock });
  const server: Server = createTlsServer(tls, (req, res) => void route(req, res), {
    clientNames: ['svc-query', 'svc-controller'],
  });
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const answer = await read({ headers: req.headers, body: Buffer.concat(parts) });
    res.writeHead(answer.status, answer.headers);
    try {
      for await (const part of answer.body) if (!res.write(part)) await once(res, 'drain');
      res.end();
    } catch {
      res.destroy();
    }
  };
  const exemplars = new ExemplarRing();
  const families: Family[] = [];
  const partition = { label: 'k8s_node_name', value: node };
  const shares = routed([
    partialRoute({ handler: partial, metrics, logger: silentLogger }),
    indexRoute({ handler: createIndexHandler({ store, node, clock }), metrics, logger: silentLogger }),
    ...detailsRoutes({ exemplars, families: () => families, partition, clock, logger: silentLogger }),
    { path: '/', serve },
  ]);
  const route = (req: IncomingMessage, res: ServerResponse): void => {
    agent.requests++;
    if (agent.misbehave) return agent.misbehave(req, res);
    void shares(req, res);
  };
  const bound = await listen('remote-read', server, { host: address, port });
  let stopped: Promise<void> | undefined;
  const agent: SimulatedAgent = {
    node,
    address,
    store,
    exemplars,
    families,
    misbehave: undefined,
    serve: shares,
    requests: 0,
    stop: () => (stopped ??= closeServer(server, 0)),
  };
  return { agent, port: bound };
}
