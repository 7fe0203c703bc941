import { startPeer } from '../../e2e/prometheus/server.ts';
import type { ExpectedAgent } from '../../src/query/index.ts';
import type { TlsMaterial } from '../../src/net/tls-material.ts';
import { end, start } from '../promql/data.ts';
import { peerData } from '../promql/peer-data.ts';
import { sameAnswer } from '../promql/same-answer.ts';
import { ApiClient } from './ask.ts';
import { oneAgentData, oneAgentQueries } from './one-agent-data.ts';
import { startPart } from './process.ts';
import { report } from './report.ts';
import type { ProcessCost } from './server.ts';

interface Agent {
  readonly port: number;
  readonly agents: readonly ExpectedAgent[];
  readonly tls: TlsMaterial;
  readonly ca: string;
}

/** Each side is asked until compilers and caches have settled: at most so often, and for so long (milliseconds). */
const warmTimes = 500;
const warmMs = 1_000;

export interface BesidePeer {
  /** How many nodes' worth of the baseline's series the one agent has: 20 is all of them, 9,300. */
  readonly nodes: number;
  readonly runs: number;
  /** Where CPU profiles of agent and query server go; none by default. */
  readonly profile?: string;
}

/**
 * The baseline queries over one agent's data: ours over HTTPS and through an agent, the peer over HTTP; client, query
 * server, agent and peer are processes of their own. Wall time of the client, and CPU time of what serves it.
 */
export async function besidePeer({ nodes, runs, profile }: BesidePeer): Promise<void> {
  const agent = await startPart<Agent, ProcessCost>('one-agent.ts', { nodes }, profile);
  const { port: agentPort, agents, tls, ca } = agent.started;
  const server = await startPart<{ port: number }, ProcessCost>('server.ts', { agents, agentPort, tls }, profile);
  const data = oneAgentData(nodes);
  const dataDir = await peerData(data, `v2-one-agent-${data.length}-series`);
  const peer = await startPeer({ dataDir, oneCore: true });
  const label = `one-agent/${data.length}-series`;
  const client = new ApiClient(server.started.port, ca);
  const plain = new ApiClient(peer.port);
  const [wall, cpu]: [number[], number[]] = [[], []];
  const cpuOfOurs = async (): Promise<number> => (await agent.cost()).cpuMs + (await server.cost()).cpuMs;
  try {
    for (const [name, query] of Object.entries(oneAgentQueries(nodes))) {
      const instant = name.startsWith('i_');
      const path = instant ? '/api/v1/query' : '/api/v1/query_range';
      const span = { start: String(start / 1000), end: String(end / 1000), step: '60' };
      const params = { query, ...(instant ? { time: String(end / 1000) } : span) };
      const ours = (): Promise<string> => client.ask(path, params);
      const theirs = (): Promise<string> => plain.ask(path, params);
      const timed = async (ask: () => Promise<string>): Promise<number> => {
        const before = performance.now();
        await ask();
        return performance.now() - before;
      };
      for (const ask of [ours, theirs]) {
        const before = performance.now();
        for (let i = 0; i < 2 || (i < warmTimes && performance.now() - before < warmMs); i++) await ask();
      }
      const difference = sameAnswer(await ours(), await theirs());
      if (difference !== null) process.stderr.write(`${name}: ${difference}\n`);
      const [a, b]: [number[], number[]] = [[], []];
      let [ownCpu, peerCpu] = [0, 0];
      for (let i = 0; i < runs; i++) {
        const before = await cpuOfOurs();
        for (let k = 0; k < 5; k++) a.push(await timed(ours));
        ownCpu += (await cpuOfOurs()) - before;
        const seconds = peer.cpuSeconds();
        for (let k = 0; k < 5; k++) b.push(await timed(theirs));
        peerCpu += (peer.cpuSeconds() - seconds) * 1000;
      }
      const [mine, other] = [a, b].map((times) => times.sort((x, y) => x - y)[times.length >> 1]!) as [number, number];
      report(`${label}/${name}/median`, 'ms', mine, other, null);
      report(`${label}/${name}/cpu`, 'ms', ownCpu / a.length, peerCpu / b.length, null);
      wall.push(mine / other);
      if (peerCpu > 0) cpu.push(ownCpu / peerCpu);
    }
    report(`${label}/geometric-mean-of-ratios`, 'ratio', geometricMean(wall), 1, 0.6);
    report(`${label}/geometric-mean-of-cpu-ratios`, 'ratio', geometricMean(cpu), 1, null);
  } finally {
    client.close();
    plain.close();
    server.stop();
    agent.stop();
    await peer.stop();
  }
}

const geometricMean = (ratios: readonly number[]): number =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
