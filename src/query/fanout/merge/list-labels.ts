import type { Memory } from '../../../base/memory-pool.ts';
import { PooledSeries, SeriesPool, takeMemory } from '../../../promql/index.ts';
import type { IndexLists } from '../../../promql/index.ts';
import { compareLabels, compareUtf8, compileMatcher } from '../../../tsdb/index.ts';
import type { Labels, Matcher } from '../../../tsdb/index.ts';
import { askNodes } from '../ask-node.ts';
import { nodeFilter } from '../fan-out.ts';
import type { AgentReader, AgentReadOptions } from '../readers/agent-reader.ts';
import type { CallableAgent } from '../readers/call-agent.ts';
import type { Asked, FanOutDeps, NodesRequest } from '../fan-out.ts';
import { holdList } from '../readers/index-reader.ts';
import type { IndexQuestion, IndexReader, IndexReading } from '../readers/index-reader.ts';
import { mergeLists } from './lists.ts';
import { StepDown } from '../readers/partial-reader.ts';
import type { TurnTaking } from '../../../base/turns/turns.ts';

interface ListRequest extends NodesRequest {
  readonly question: IndexQuestion;
}

export interface ListDeps extends FanOutDeps {
  /** Reads the label indexes of agents. If undefined, all series are read by remote read instead. */
  readonly indexReader?: IndexReader | undefined;
}

interface NodeReadings {
  readonly node: string;
  readonly readings: readonly IndexReading[];
}

/**
 * Reads the index of every agent that may have matching series, all at the same time. An agent without an index is
 * asked for the labels of its series over remote read.
 * Guarantees: an agent's whole answer is in the result, or the agent is in `lost`.
 * Errors: only those that end the request itself (its signal, its budget).
 */
export async function listLabels(request: ListRequest, deps: ListDeps): Promise<Asked<NodeReadings>> {
  const { question, agents } = request;
  const possible = withoutNameless(question.sets);
  const filters = possible.map(nodeFilter);
  const pool = new SeriesPool((bytes) => holdList(request.budget, bytes));
  const asked = agents.flatMap((agent) => {
    const sets = possible.filter((_, i) => filters[i]!(agent.node));
    return sets.length > 0 ? [{ agent, question: { ...question, sets } }] : [];
  });
  const { budget, signal, remainingMs } = request;
  const { clock, indexReader } = deps;
  const { answered, lost } = await askNodes(
    asked,
    { ...deps, remainingMs, signal, budget },
    async (agent, time, one) => {
      const started = clock.monotonic();
      try {
        if (indexReader) return await indexReader(agent, one.question, { ...time, pool });
      } catch (error) {
        if (!(error instanceof StepDown)) throw error;
      }
      const passed = clock.monotonic() - started;
      const { deadlineMs, latestMs } = time;
      const left = { deadlineMs: Math.max(1, deadlineMs - passed), latestMs: Math.max(1, latestMs - passed) };
      return readInstead(agent, one.question, { ...time, ...left }, deps.reader);
    },
  );
  return { parts: answered.map(({ agent: { node }, answers }) => ({ node, readings: answers })), lost };
}

/**
 * The selectors without their matchers for the empty name, a label that no series has: one that "" does not match leaves
 * nothing to select, and its selector is left out. Agents of 0.1.0 refuse a request with such a matcher.
 */
function withoutNameless(sets: readonly (readonly Matcher[])[]): (readonly Matcher[])[] {
  const isNameless = ({ name }: Matcher): boolean => name === '';
  return sets.flatMap((set) => {
    if (!set.some(isNameless)) return [set];
    if (set.some((one) => isNameless(one) && !compileMatcher(one).matches(''))) return [];
    return [set.filter((one) => !isNameless(one))];
  });
}

async function readInstead(
  agent: CallableAgent,
  question: IndexQuestion,
  options: Omit<AgentReadOptions, 'onForeign'>,
  reader: AgentReader,
): Promise<IndexReading> {
  let foreign = false;
  const onForeign = (): void => void (foreign = true);
  const found = await reader(agent, readQueries(question), { ...options, onForeign });
  const labels = found.flat().map((series) => series.labels);
  return { ...listsOf(labels, question), foreign };
}

/** The queries that read the series of the request by remote read. */
export function readQueries({ sets, startMs, endMs }: IndexQuestion) {
  return sets.map((matchers) => ({ startMs, endMs, matchers, hints: { func: 'series' } }));
}

/** The answer that an agent's index would give if it had these series. */
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

/**
 * Joins several answers into one sorted answer; an element that several of them have is listed once.
 * Errors: QueryError when the memory is spent.
 */
export async function joinLists(
  all: readonly IndexLists[],
  { kind }: Pick<IndexQuestion, 'kind'>,
  turns: Pick<TurnTaking, 'next'>,
  memory: Memory | undefined,
): Promise<IndexLists> {
  if (kind !== 'series') {
    const lists = all.map(({ texts }) => texts);
    return { texts: await mergeLists(lists, compareUtf8, turns, 'once'), series: [] };
  }
  const known = all.map(({ series }) => series).find((series) => series instanceof PooledSeries);
  const pool = known?.pool ?? new SeriesPool((bytes) => takeMemory(memory, bytes));
  const lists = all.map(({ series }) => PooledSeries.of(series, pool).places);
  const places = await mergeLists(lists, (a, b) => pool.compare(a, b), turns, 'once');
  return { texts: [], series: new PooledSeries(pool, places) };
}

/** In label order, without repetition. */
function sorted(all: readonly Labels[]): Labels[] {
  const list = [...all].sort(compareLabels);
  return list.filter((labels, i) => i === 0 || compareLabels(labels, list[i - 1]!) !== 0);
}
