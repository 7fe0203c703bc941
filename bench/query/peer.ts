import { startPeer } from '../../e2e/prometheus/server.ts';
import { end, start } from '../promql/data.ts';
import { peerData } from '../promql/peer-data.ts';
import { sameAnswer } from '../promql/same-answer.ts';
import { agentEnvironment, queryEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import { dropFromCache } from '../run/page-cache.ts';
import { cpuMs } from '../run/process-figures.ts';
import { geometricMean, median } from '../run/spread.ts';
import { column, inTurns } from '../run/turns.ts';
import type { AgentsStarted } from './agents.ts';
import { ApiClient } from './ask.ts';
import type { OneAgentWork } from './one-agent.ts';
import { oneAgentData, oneAgentQueries } from './one-agent-data.ts';
import { startPart } from './process.ts';

export interface BesidePeer {
  /** The one agent gets the series that this many nodes have in the baseline: 20 nodes have all 9,300 series. */
  readonly nodes: number;
  /** For how long each query is repeated on each side before any is measured. Units: ms. */
  readonly rehearsalMs: number;
  /** Where CPU profiles of agent and query server go; none by default. */
  readonly profile: string;
}

/** One side of the comparison, ours or the peer, while it runs. */
interface Side {
  ask(question: Question): Promise<string>;
  /** CPU time of all processes of the side. */
  cpuMs(): number;
  stop(): Promise<void>;
}

interface Question {
  readonly name: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Bounds for the geometric mean of the ratios of times to the peer's. */
interface Goals {
  readonly warm: number;
  readonly cold: number;
}

/** A run repeats a query at least this often, and for at least this long. */
const answersOfARun = 2;
const runMs = 100;

/**
 * Runs the baseline queries over one agent's data in files: ours over HTTPS through query server and agent, the peer
 * over HTTP. Measures the wall time of the client, and the CPU time of the processes that serve it.
 * Flow: in each cold run, both sides start over files that the kernel has to read, and answer each query once → both
 * sides start, and each query is repeated for a while → the warm runs.
 */
export async function besidePeer(stage: Stage, options: BesidePeer): Promise<void> {
  const { say, atEnd } = stage;
  const { wrapper, says } = oneCore();
  const data = oneAgentData(options.nodes);
  const dataDir = await peerData(data, `v2-one-agent-${data.length}-series`, say);
  const dir = stage.folder();
  say(`filling an agent with ${data.length} series`);
  const filled: OneAgentWork = { dir, nodes: options.nodes, fill: true };
  await (await startPart('one-agent.ts', filled, { atEnd, env: agentEnvironment })).stop();
  const sides = {
    ours: () => startOurs({ ...filled, fill: false }, stage, options.profile),
    peer: async (): Promise<Side> => {
      const peer = await startPeer({ dataDir, oneCore: true, wrapper });
      atEnd(() => peer.stop());
      const client = new ApiClient(peer.port);
      return sideOf(client, [peer.pid], () => peer.stop());
    },
  };
  const questions = Object.entries(oneAgentQueries(options.nodes)).map(([name, query]) => question(name, query));
  const label = `one-agent/${data.length}-series`;
  const cores = says('agent and query server, or Prometheus');
  const goals = options.nodes > 1 ? { warm: 0.45, cold: 0.7 } : { warm: 0.8, cold: 1 };
  await cold(stage, { label, goals, cores, sides, questions, folders: { ours: dir, peer: dataDir } });
  const [ours, peer] = [await sides.ours(), await sides.peer()];
  await warm(stage, { label, goals, cores, ours, peer, questions, rehearsalMs: options.rehearsalMs });
  await ours.stop();
  await peer.stop();
}

interface Cold {
  readonly label: string;
  readonly goals: Goals;
  readonly cores: string;
  readonly sides: Readonly<Record<'ours' | 'peer', () => Promise<Side>>>;
  readonly questions: readonly Question[];
  readonly folders: Readonly<Record<'ours' | 'peer', string>>;
}

async function cold(
  { runs, say, reporter }: Stage,
  { label, goals, cores, sides, questions, folders }: Cold,
): Promise<void> {
  say(`${label}: first answers, ${runs} runs`);
  const turn = (side: 'ours' | 'peer') => async (run: number) => {
    dropFromCache(folders[side]);
    const running = await sides[side]();
    const times = new Map<string, number>();
    // Each run begins with a different query, because the first query of a run pays for what all queries need.
    const first = (run * 5) % questions.length;
    for (const one of [...questions.slice(first), ...questions.slice(0, first)]) {
      const before = performance.now();
      await running.ask(one);
      times.set(one.name, performance.now() - before);
    }
    await running.stop();
    return times;
  };
  const turns = await inTurns(runs, { ours: turn('ours'), peer: turn('peer') });
  const report = reporter({ cores, caches: 'cold: processes just started, files not in the page cache' });
  for (const { name } of questions) {
    report({ name: `${label}/cold/${name}/time`, unit: 'ms', ...column(turns, (times) => times.get(name)!) });
  }
  const ratios = turns.ours.map((times, run) =>
    geometricMean(questions.map(({ name }) => times.get(name)! / turns.peer[run]!.get(name)!)),
  );
  const name = `${label}/cold/geometric-mean-of-ratios`;
  report({ name, unit: 'ratio', ours: ratios, peer: ratios.map(() => 1), goal: { of: 'ratio', atMost: goals.cold } });
}

interface Warm {
  readonly label: string;
  readonly goals: Goals;
  readonly cores: string;
  readonly ours: Side;
  readonly peer: Side;
  readonly questions: readonly Question[];
  readonly rehearsalMs: number;
}

async function warm(stage: Stage, { label, goals, cores, ours, peer, questions, rehearsalMs }: Warm): Promise<void> {
  const { runs, say, fail, reporter } = stage;
  say(`${label}: every query for a while on both sides`);
  for (const one of questions) for (const side of [ours, peer]) await askFor(side, one, rehearsalMs);
  const seconds = rehearsalMs / 1000;
  const report = reporter({ cores, caches: `warm: each query asked for ${seconds} s before; files in the page cache` });
  const ratios = { time: [] as number[][], cpu: [] as number[][] };
  for (const one of questions) {
    const difference = sameAnswer(await ours.ask(one), await peer.ask(one));
    if (difference !== null) fail(`${label}: ${one.name}: answers differ: ${difference}`);
    const turn = (side: Side) => () => askFor(side, one, runMs);
    const turns = await inTurns(runs, { ours: turn(ours), peer: turn(peer) });
    for (const what of ['time', 'cpu'] as const) {
      report({ name: `${label}/warm/${one.name}/${what}`, unit: 'ms', ...column(turns, (taken) => taken[what]) });
      ratios[what].push(turns.ours.map((mine, run) => mine[what] / turns.peer[run]![what]));
    }
  }
  for (const what of ['time', 'cpu'] as const) {
    const means = Array.from({ length: runs }, (_, run) => geometricMean(ratios[what].map((all) => all[run]!)));
    const name = `${label}/warm/geometric-mean-of-${what}-ratios`;
    const goal = what === 'time' ? ({ of: 'ratio', atMost: goals.warm } as const) : undefined;
    report({ name, unit: 'ratio', ours: means, peer: means.map(() => 1), goal });
  }
}

async function startOurs(work: OneAgentWork, { atEnd }: Stage, profile: string): Promise<Side> {
  const { wrapper } = oneCore();
  const options = { atEnd, wrapper, profile };
  const agent = await startPart<AgentsStarted>('one-agent.ts', work, { ...options, env: agentEnvironment });
  const { port: agentPort, agents, tls, ca } = agent.started;
  const server = await startPart<{ port: number }>(
    'server.ts',
    { agents, agentPort, tls },
    { ...options, env: queryEnvironment },
  );
  return sideOf(new ApiClient(server.started.port, ca), [agent.pid, server.pid], async () => {
    await server.stop();
    await agent.stop();
  });
}

function sideOf(client: ApiClient, pids: readonly number[], stop: () => Promise<void>): Side {
  return {
    ask: ({ path, params }) => client.ask(path, params),
    cpuMs: () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0),
    stop: async () => {
      client.close();
      await stop();
    },
  };
}

function question(name: string, query: string): Question {
  const span = { start: String(start / 1000), end: String(end / 1000), step: '60' };
  return name.startsWith('i_')
    ? { name, path: '/api/v1/query', params: { query, time: String(end / 1000) } }
    : { name, path: '/api/v1/query_range', params: { query, ...span } };
}

/** Repeats a query for `ms`. Returns the median time of the answers and their mean CPU time. Units: ms. */
async function askFor(side: Side, one: Question, ms: number): Promise<{ time: number; cpu: number }> {
  const times: number[] = [];
  const cpu = side.cpuMs();
  const began = performance.now();
  while (times.length < answersOfARun || performance.now() - began < ms) {
    const before = performance.now();
    await side.ask(one);
    times.push(performance.now() - before);
  }
  return { time: median(times), cpu: (side.cpuMs() - cpu) / times.length };
}
