import { sameAnswer } from '../promql/same-answer.ts';
import { agentEnvironment, queryEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import { cpuMs } from '../run/process-figures.ts';
import { quantile } from '../run/spread.ts';
import { column, inTurns } from '../run/turns.ts';
import type { AgentsCost, AgentsStarted, AgentsWork } from './agents.ts';
import { ApiClient } from './ask.ts';
import { agentSeries, timeOf } from './data.ts';
import { queries } from './fan-out.ts';
import { startPart, type Part } from './process.ts';
import { startThanosSide } from './thanos-peer.ts';

interface Side {
  readonly client: ApiClient;
  readonly pids: readonly number[];
}

interface Question {
  readonly name: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Whether a node sends only a few groups instead of its series. */
  readonly isAggregated: boolean;
}

/** The times of one turn. Units: ms. */
interface Answered {
  readonly p50: number;
  readonly p95: number;
  readonly cpu: number;
}

/** Number of answers that are requested from each side before a query is measured. */
const warmAnswers = 20;
const countedAnswers = 3;

export interface BesideThanos {
  readonly stores: number;
  /** Series of each store. */
  readonly series: number;
}

/**
 * Sends each query to a query server over agents, each in a process of its own, and to Thanos Query over as many pairs
 * of Prometheus and sidecar with the same series.
 * Flow: both sides start → for each query: warm-up → the answers are compared → the sides are timed in turns → the
 * bytes that the stores send are counted, in requests of their own.
 */
export async function besideThanos(stage: Stage, options: BesideThanos): Promise<void> {
  const ends: (() => unknown)[] = [];
  const end = async (): Promise<void> => {
    for (let last = ends.pop(); last; last = ends.pop()) await last();
  };
  stage.atEnd(end);
  await compare({ ...stage, atEnd: (work) => void ends.push(work) }, options);
  await end();
}

async function compare(stage: Stage, { stores, series }: BesideThanos): Promise<void> {
  const { say, fail, runs, quick, reporter } = stage;
  const { wrapper, says } = oneCore();
  const end = Math.floor(Date.now() / 60_000) * 60_000;
  say(`starting ${stores} agents of ${series} series`);
  const { side: ours, bytes } = await startOurs(stage, { agents: stores, series, end });
  const nodes = Array.from({ length: stores }, (_, i) => `node-${i}`);
  const rows = agentSeries(series);
  const thanos = await startThanosSide({ nodes, series: rows, timeOf: (k) => timeOf(k, end), wrapper }, stage);
  const caches = 'warm: each question was asked before; samples in memory on both sides';
  const report = reporter({ cores: says('query server and agents, or Thanos Query, sidecars and Prometheus'), caches });
  for (const one of questions(end)) {
    const label = `thanos/${stores}-stores/${one.name}`;
    say(label);
    for (const side of [ours, thanos]) await answersOf(side, one, quick ? 2 : warmAnswers);
    const difference = sameAnswer(await ask(ours.client, one), await ask(thanos.client, one));
    if (difference !== null) fail(`${label}: answers differ: ${difference}`);
    const turn = (side: Side) => () => answersOf(side, one, quick ? 3 : 40);
    const turns = await inTurns(runs, { ours: turn(ours), peer: turn(thanos) });
    const goals = { p50: 0.5, p95: 0.5, cpu: 0.4 } as const;
    for (const what of ['p50', 'p95', 'cpu'] as const) {
      const goal = one.isAggregated ? ({ of: 'ratio', atMost: goals[what] } as const) : undefined;
      report({ name: `${label}/${what}`, unit: 'ms', ...column(turns, (answered) => answered[what]), goal });
    }
    const sent = await inTurns(runs, {
      ours: () => bytesOf(ours.client, one, bytes),
      peer: () => bytesOf(thanos.counted, one, () => Promise.resolve(thanos.bytes())),
    });
    const goal = one.isAggregated ? ({ of: 'ratio', atMost: 0.1 } as const) : undefined;
    report({ name: `${label}/bytes-from-stores`, unit: 'B', ...column(sent, (count) => count), goal });
  }
}

/**
 * Range queries over half an hour, one for each query of fan-out.ts, and two instant queries, of which the second is
 * asked only in this benchmark.
 */
function questions(end: number): Question[] {
  const time = String(end / 1000);
  const span = { start: String(end / 1000 - 1800), end: time, step: '60' };
  const ranges = Object.entries(queries).map(([name, query]) => ({
    ...{ name: `range/${name}`, path: '/api/v1/query_range', params: { query, ...span }, isAggregated: name !== 'raw' },
  }));
  const query = queries['sum-rate']!;
  return [
    ...ranges,
    { name: 'instant/sum-rate', path: '/api/v1/query', params: { query, time }, isAggregated: true },
    {
      ...{ name: 'instant/max-by-node', path: '/api/v1/query', isAggregated: true },
      params: { query: 'max by (k8s_node_name) (rate(ebpf_network_flow_bytes[5m]))', time },
    },
  ];
}

function ask(client: ApiClient, { path, params }: Question): Promise<string> {
  return client.ask(path, params);
}

async function answersOf({ client, pids }: Side, question: Question, answers: number): Promise<Answered> {
  const used = (): number => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const [times, before] = [[] as number[], used()];
  for (let i = 0; i < answers; i++) {
    const started = performance.now();
    await ask(client, question);
    times.push(performance.now() - started);
  }
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), cpu: (used() - before) / answers };
}

async function bytesOf(client: ApiClient, question: Question, bytes: () => Promise<number>): Promise<number> {
  const before = await bytes();
  for (let i = 0; i < countedAnswers; i++) await ask(client, question);
  return ((await bytes()) - before) / countedAnswers;
}

/** Each agent in a process of its own, as on its node; all of them trust one authority. */
async function startOurs(
  { atEnd }: Pick<Stage, 'atEnd'>,
  { agents, series, end }: Pick<AgentsWork, 'agents' | 'series' | 'end'>,
): Promise<{ side: Side; bytes: () => Promise<number> }> {
  const { wrapper } = oneCore();
  const parts: Part<AgentsStarted, AgentsCost>[] = [];
  for (let before = 0; before < agents; before++) {
    const first = parts[0]?.started;
    const part = first && { ca: first.authority, port: first.port, before };
    const work: AgentsWork = { agents: 1, series, end, ...(part === undefined ? {} : { part }) };
    parts.push(await startPart('agents.ts', work, { atEnd, wrapper, env: agentEnvironment }));
  }
  const { port: agentPort, tls, ca } = parts[0]!.started;
  const all = parts.flatMap(({ started }) => started.agents);
  const server = await startPart<{ port: number }>(
    'server.ts',
    { agents: all, agentPort, tls },
    { atEnd, wrapper, env: queryEnvironment },
  );
  const client = new ApiClient(server.started.port, ca);
  atEnd(() => client.close());
  const bytes = async (): Promise<number> => {
    const costs = await Promise.all(parts.map((part) => part.cost()));
    return costs.reduce((sum, cost) => sum + cost.bytes, 0);
  };
  return { side: { client, pids: [...parts.map(({ pid }) => pid), server.pid] }, bytes };
}
