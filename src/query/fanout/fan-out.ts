import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import { compileMatcher } from '../../tsdb/index.ts';
import type { Matcher, ReadQuery } from '../../tsdb/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import type { AgentReader } from './readers/agent-reader.ts';
import { askNodes } from './ask-node.ts';
import type { LostNode } from './failure.ts';
import type { CollectedSeries, SampleBudget } from './merge/series-collector.ts';

export interface FanOutDeps {
  readonly reader: AgentReader;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
}

/** A request to many agents. */
export interface NodesRequest {
  readonly agents: readonly ExpectedAgent[];
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
  /** The rest of the query's time; an agent gets less, so that there is time left to answer without that agent. */
  readonly remainingMs: number;
}

interface FanOutRequest extends NodesRequest {
  readonly queries: readonly ReadQuery[];
}

/** The outcome of a request to many agents. */
export interface Asked<P> {
  /** One for each agent that answered, in order of node names. */
  readonly parts: readonly P[];
  readonly lost: readonly LostNode[];
}

/** The series of one node. */
export interface AgentPart {
  readonly node: string;
  /** One list for each query; empty for a query that was not sent to the node. */
  readonly series: readonly (readonly CollectedSeries[])[];
  /** True when the node's series may also be in other parts, or twice in this one. */
  readonly overlaps: boolean;
}

/**
 * Reads every agent that may have matching series, all at the same time.
 * Guarantees: the result has an agent's data either for all queries, or for none; in the second case, the agent is in
 * `lost`.
 * Errors: only those that end the query itself (its signal, its sample budget).
 */
export async function fanOut(request: FanOutRequest, deps: FanOutDeps): Promise<Asked<AgentPart>> {
  const { queries, budget, signal, remainingMs } = request;
  const allowed = queries.map(({ matchers }) => nodeFilter(matchers));
  const asked = request.agents.flatMap((agent) => {
    const indexes = queries.flatMap((_, i) => (allowed[i]!(agent.node) ? [i] : []));
    return indexes.length > 0 ? [{ agent, indexes }] : [];
  });
  const { answered, lost } = await askNodes(
    asked,
    { ...deps, remainingMs, signal, budget },
    async (agent, time, { indexes }) => {
      let overlaps = false;
      const options = { ...time, onForeign: () => (overlaps = true) };
      const own = indexes.map((i) => queries[i]!);
      const series = await deps.reader(agent, own, options);
      return { series, overlaps };
    },
  );
  const parts = answered.map(({ agent, indexes, answers }) => {
    const series: CollectedSeries[][] = queries.map(() => []);
    for (const [n, i] of indexes.entries()) series[i] = answers.flatMap((answer) => answer.series[n]!);
    return { node: agent.node, series, overlaps: answers.length > 1 || answers[0]!.overlaps };
  });
  return { parts, lost };
}

/** Which nodes can have matching series: every series carries its node's name. */
export function nodeFilter(matchers: readonly Matcher[]): (node: string) => boolean {
  const own = matchers.filter((m) => m.name === nodeLabel).map(compileMatcher);
  return (node) => own.every((m) => m.matches(node));
}

/** Which nodes can have series that match at least one of the sets. */
export function nodesFilter(sets: readonly (readonly Matcher[])[]): (node: string) => boolean {
  const filters = sets.map(nodeFilter);
  return (node) => filters.some((mayMatch) => mayMatch(node));
}
