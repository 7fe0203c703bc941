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

/** How long each query is asked of each side before any is measured, and again before it is. Milliseconds. */
const rehearsalMs = 5_000;
const warmMs = 1_000;
/** Answers of a process just started: at most so many of each query, and for so long. */
const firstAnswers = 20;
const firstMs = 1_000;

export interface BesidePeer {
  /** How many nodes' worth of the baseline's series the one agent has: 20 is all of them, 9,300. */
  readonly nodes: number;
  readonly runs: number;
  /** Where CPU profiles of agent and query server go; none by default. */
  readonly profile?: string;
}

/** One of the queries on both sides. */
interface Question {
  readonly name: string;
  readonly ours: () => Promise<string>;
  readonly theirs: () => Promise<string>;
}

/**
 * The baseline queries over one agent's data: ours over HTTPS and through an agent, the peer over HTTP; client, query
 * server, agent and peer are processes of their own. Wall time of the client, and CPU time of what serves it.
 * Flow: the first answers of processes just started, told by themselves since our code is compiled while it runs →
 * every query on both sides for a while → the figures that count.
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
  const cpuOfOurs = async (): Promise<number> => (await agent.cost()).cpuMs + (await server.cost()).cpuMs;
  const cpuOfPeer = async (): Promise<number> => Promise.resolve(peer.cpuSeconds() * 1000);
  const questions = Object.entries(oneAgentQueries(nodes)).map(([name, query]) => question(name, query, client, plain));
  try {
    const first: number[] = [];
    for (const { ours, theirs } of questions) {
      first.push(
        median(await askFor(ours, firstMs, 2, firstAnswers)) / median(await askFor(theirs, firstMs, 2, firstAnswers)),
      );
    }
    report(`${label}/first-answers/geometric-mean-of-ratios`, 'ratio', geometricMean(first), 1, null);
    process.stderr.write(`${label}: every query for a while on both sides\n`);
    for (const { ours, theirs } of questions) for (const ask of [ours, theirs]) await askFor(ask, rehearsalMs);
    const [wall, cpu]: [number[], number[]] = [[], []];
    for (const { name, ours, theirs } of questions) {
      const difference = sameAnswer(await ours(), await theirs());
      if (difference !== null) process.stderr.write(`${name}: ${difference}\n`);
      for (const ask of [ours, theirs]) await askFor(ask, warmMs);
      const [mine, other] = [new Side(ours, cpuOfOurs), new Side(theirs, cpuOfPeer)];
      for (let i = 0; i < runs; i++) for (const side of [mine, other]) await side.run();
      report(`${label}/${name}/median`, 'ms', mine.median, other.median, null);
      report(`${label}/${name}/cpu`, 'ms', mine.cpu, other.cpu, null);
      wall.push(mine.median / other.median);
      if (other.cpu > 0) cpu.push(mine.cpu / other.cpu);
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

function question(name: string, query: string, client: ApiClient, plain: ApiClient): Question {
  const instant = name.startsWith('i_');
  const path = instant ? '/api/v1/query' : '/api/v1/query_range';
  const span = { start: String(start / 1000), end: String(end / 1000), step: '60' };
  const params = { query, ...(instant ? { time: String(end / 1000) } : span) };
  return { name, ours: () => client.ask(path, params), theirs: () => plain.ask(path, params) };
}

/** Asks again and again for so long, so often at least and at most. How long each took: ms. */
async function askFor(ask: () => Promise<string>, ms: number, atLeast = 2, atMost = Infinity): Promise<number[]> {
  const taken: number[] = [];
  const began = performance.now();
  while (taken.length < atLeast || (taken.length < atMost && performance.now() - began < ms)) {
    const before = performance.now();
    await ask();
    taken.push(performance.now() - before);
  }
  return taken;
}

/** Answers in a row between two readings of the CPU clocks, the peer's in steps of 10 ms: so many, for so long at least. */
const answersOfARun = 5;
const runMs = 100;

/** What one side's answers to one query took. */
class Side {
  readonly #ask: () => Promise<string>;
  readonly #spent: () => Promise<number>;
  readonly #times: number[] = [];
  #cpuMs = 0;

  constructor(ask: () => Promise<string>, spent: () => Promise<number>) {
    this.#ask = ask;
    this.#spent = spent;
  }

  async run(): Promise<void> {
    const before = await this.#spent();
    this.#times.push(...(await askFor(this.#ask, runMs, answersOfARun)));
    this.#cpuMs += (await this.#spent()) - before;
  }

  /** Wall time of an answer: ms. */
  get median(): number {
    return median(this.#times);
  }

  /** CPU time of an answer: ms. */
  get cpu(): number {
    return this.#cpuMs / this.#times.length;
  }
}

const median = (values: readonly number[]): number => values.toSorted((x, y) => x - y)[values.length >> 1]!;

const geometricMean = (ratios: readonly number[]): number =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
