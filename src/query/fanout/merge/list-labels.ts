import { errorText } from '../../../base/errors.ts';
import { PooledSeries, SeriesPool } from '../../../promql/index.ts';
import type { IndexLists } from '../../../promql/index.ts';
import { compareLabels, compareUtf8 } from '../../../tsdb/index.ts';
import type { Labels } from '../../../tsdb/index.ts';
import type { ExpectedAgent } from '../../agents/directory.ts';
import { AgentFailure, unaskedNode } from '../failure.ts';
import type { LostNode } from '../failure.ts';
import { agentTime, nodeFilter } from '../fan-out.ts';
import type { AgentTime } from '../readers/call-agent.ts';
import type { FanOutDeps } from '../fan-out.ts';
import type { IndexQuestion, IndexReader, IndexReading } from '../readers/index-reader.ts';
import { mergeLists } from './lists.ts';
import { StepDown } from '../readers/partial-reader.ts';
import type { SampleBudget } from './series-collector.ts';
import type { TurnTaking } from '../../../base/turns/turns.ts';

export interface ListRequest {
  readonly agents: readonly ExpectedAgent[];
  readonly question: IndexQuestion;
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
  /** The rest of the time; an agent gets less, so that the answer can still be made without it. */
  readonly remainingMs: number;
}

export interface ListDeps extends FanOutDeps {
  /** Reads indexes; undefined: series are read instead. */
  readonly indexReader?: IndexReader | undefined;
}

export interface ListResult {
  /** The agents that answered, in order of node names. */
  readonly parts: readonly { readonly node: string; readonly readings: readonly IndexReading[] }[];
  readonly lost: readonly LostNode[];
}

/**
 * Reads the index of every agent that may have matching series, all at the same time. An agent without an index is
 * asked for the labels of its series over remote read.
 * Guarantees: an agent's whole answer is in the result, or the agent is in `lost`.
 * Errors: only those that end the request itself (its signal, its budget).
 */
export async function listLabels(request: ListRequest, deps: ListDeps): Promise<ListResult> {
  const { question, agents } = request;
  const filters = question.sets.map(nodeFilter);
  const pool = new SeriesPool();
  const asked = agents.flatMap((agent) => {
    const sets = question.sets.filter((_, i) => filters[i]!(agent.node));
    return sets.length > 0 ? [{ agent, question: { ...question, sets } }] : [];
  });
  const outcomes = await Promise.all(asked.map((one) => askOne(one.agent, one.question, pool, request, deps)));
  const parts: { node: string; readings: readonly IndexReading[] }[] = [];
  const lost: LostNode[] = [];
  for (const [i, outcome] of outcomes.entries()) {
    if ('lost' in outcome) lost.push(outcome.lost);
    else parts.push({ node: asked[i]!.agent.node, readings: outcome.readings });
  }
  return { parts, lost };
}

async function askOne(
  agent: ExpectedAgent,
  question: IndexQuestion,
  pool: SeriesPool,
  request: ListRequest,
  deps: ListDeps,
): Promise<{ readonly readings: IndexReading[] } | { readonly lost: LostNode }> {
  const { node, address } = agent;
  if (address === undefined) return { lost: unaskedNode(agent) };
  const { clock, agentTimeoutMs, indexReader } = deps;
  const { budget, signal } = request;
  const started = clock.monotonic();
  const time = agentTime(agent, agentTimeoutMs, request.remainingMs);
  const left = (): AgentTime => {
    const passed = clock.monotonic() - started;
    return { deadlineMs: Math.max(1, time.deadlineMs - passed), latestMs: Math.max(1, time.latestMs - passed) };
  };
  const one = async (host: string): Promise<IndexReading> => {
    const at = { ...agent, address: host };
    try {
      if (indexReader) return await indexReader(at, question, { ...left(), budget, signal, pool });
    } catch (error) {
      if (!(error instanceof StepDown)) throw error;
    }
    return readInstead(at, question, left(), request, deps);
  };
  try {
    return { readings: await Promise.all([address, ...(agent.more ?? [])].map(one)) };
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    const elapsedMs = clock.monotonic() - started;
    return { lost: { node, reason: error.reason, message: errorText(error), elapsedMs } };
  }
}

async function readInstead(
  agent: ExpectedAgent & { readonly address: string },
  question: IndexQuestion,
  time: AgentTime,
  { budget, signal }: ListRequest,
  { reader }: ListDeps,
): Promise<IndexReading> {
  let foreign = false;
  const onForeign = (): void => void (foreign = true);
  const found = await reader(agent, readQueries(question), { ...time, budget, signal, onForeign });
  const labels = found.flat().map((series) => series.labels);
  return { ...listsOf(labels, question), foreign };
}

/** The request as selectors whose series are read. */
export function readQueries({ sets, startMs, endMs }: IndexQuestion) {
  return sets.map((matchers) => ({ startMs, endMs, matchers, hints: { func: 'series' } }));
}

/** The answer that an index would give for these series. */
export function listsOf(all: readonly Labels[], { kind, label }: Pick<IndexQuestion, 'kind' | 'label'>): IndexLists {
  if (kind === 'series') return { texts: [], series: sorted(all) };
  const texts = new Set<string>();
  for (const labels of all) {
    for (const [name, value] of labels) {
      if (kind === 'names') texts.add(name);
      else if (name === label) texts.add(value);
    }
  }
  return { texts: [...texts].sort(compareUtf8), series: [] };
}

/** Several answers as one, sorted; an element of several answers occurs once. */
export async function joinLists(
  all: readonly IndexLists[],
  { kind }: Pick<IndexQuestion, 'kind'>,
  turns: Pick<TurnTaking, 'next'>,
): Promise<IndexLists> {
  if (kind !== 'series') {
    const lists = all.map(({ texts }) => texts);
    return { texts: await mergeLists(lists, compareUtf8, turns, 'once'), series: [] };
  }
  const known = all.map(({ series }) => series).find((series) => series instanceof PooledSeries);
  const pool = known?.pool ?? new SeriesPool();
  const lists = all.map(({ series }) => PooledSeries.of(series, pool).places);
  const places = await mergeLists(lists, (a, b) => pool.compare(a, b), turns, 'once');
  return { texts: [], series: new PooledSeries(pool, places) };
}

/** In label order, without repetition. */
function sorted(all: readonly Labels[]): Labels[] {
  const list = [...all].sort(compareLabels);
  return list.filter((labels, i) => i === 0 || compareLabels(labels, list[i - 1]!) !== 0);
}
