import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { compileMatcher } from '../../tsdb/index.ts';
import type { Matcher, ReadQuery } from '../../tsdb/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import type { AgentReader } from './readers/agent-reader.ts';
import type { AgentTime } from './readers/call-agent.ts';
import { AgentFailure, unaskedNode } from './failure.ts';
import type { LostNode } from './failure.ts';
import type { CollectedSeries, SampleBudget } from './merge/series-collector.ts';

/** A node that Kubernetes reports as not ready is asked, but with at most this deadline. */
const unreadyDeadlineMs = 1_000;

export interface FanOutDeps {
  readonly reader: AgentReader;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
}

export interface FanOutRequest {
  readonly agents: readonly ExpectedAgent[];
  readonly queries: readonly ReadQuery[];
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
  /** The rest of the query's time; an agent gets less, so that the answer can still be made without it. */
  readonly remainingMs: number;
}

/** The series of one node. */
export interface AgentPart {
  readonly node: string;
  /** One list for each query; empty for a query that was not sent to the node. */
  readonly series: readonly (readonly CollectedSeries[])[];
  /** True when its series may be in other parts too, or twice in this one. */
  readonly overlaps: boolean;
}

export interface FanOutResult {
  /** For each agent that answered, in order of node names: the series of each query. */
  readonly parts: readonly AgentPart[];
  readonly lost: readonly LostNode[];
}

/**
 * Reads every agent that may have matching series, all at the same time.
 * Guarantees: an agent's data is in the result for all queries, or for none, and then the agent is in `lost`.
 * Errors: only those that end the query itself (its signal, its sample budget).
 */
export async function fanOut(request: FanOutRequest, deps: FanOutDeps): Promise<FanOutResult> {
  const { queries } = request;
  const parts: AgentPart[] = [];
  const lost: LostNode[] = [];
  const allowed = queries.map(({ matchers }) => nodeFilter(matchers));
  const asked = request.agents.flatMap((agent) => {
    const indexes = queries.flatMap((_, i) => (allowed[i]!(agent.node) ? [i] : []));
    return indexes.length > 0 ? [{ agent, indexes }] : [];
  });
  const outcomes = await Promise.all(
    asked.map(({ agent, indexes }) =>
      readOne(
        agent,
        indexes.map((i) => queries[i]!),
        request,
        deps,
      ),
    ),
  );
  for (const [k, outcome] of outcomes.entries()) {
    const { agent, indexes } = asked[k]!;
    if ('lost' in outcome) lost.push(outcome.lost);
    else {
      const { overlaps } = outcome;
      const series: CollectedSeries[][] = queries.map(() => []);
      for (const [n, i] of indexes.entries()) series[i] = outcome.series[n]!;
      parts.push({ node: agent.node, series, overlaps });
    }
  }
  return { parts, lost };
}

async function readOne(
  agent: ExpectedAgent,
  queries: readonly ReadQuery[],
  request: FanOutRequest,
  deps: FanOutDeps,
): Promise<{ series: CollectedSeries[][]; overlaps: boolean } | { lost: LostNode }> {
  const { node, address } = agent;
  if (address === undefined) return { lost: unaskedNode(agent) };
  const started = deps.clock.monotonic();
  try {
    const time = agentTime(agent, deps.agentTimeoutMs, request.remainingMs);
    let overlaps = false;
    const options = { ...time, budget: request.budget, signal: request.signal, onForeign: () => (overlaps = true) };
    const addresses = [address, ...(agent.more ?? [])];
    const all = await Promise.all(addresses.map((one) => deps.reader({ ...agent, address: one }, queries, options)));
    const series = queries.map((_, i) => all.flatMap((answer) => answer[i]!));
    return { series, overlaps: overlaps || all.length > 1 };
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    const elapsedMs = deps.clock.monotonic() - started;
    return { lost: { node, reason: error.reason, message: errorText(error), elapsedMs } };
  }
}

/** The deadline of one agent, from its own limit and the rest of the query's time. */
export function agentTime({ nodeReady }: ExpectedAgent, agentTimeoutMs: number, remainingMs: number): AgentTime {
  const whole = nodeReady ? agentTimeoutMs : Math.min(unreadyDeadlineMs, agentTimeoutMs);
  const atMost = (share: number): number => Math.max(1, Math.floor(remainingMs * share));
  return { deadlineMs: Math.max(1, Math.min(Math.floor(whole), atMost(0.8))), latestMs: atMost(0.9) };
}

/** Which nodes can have matching series: every series carries its node's name. */
export function nodeFilter(matchers: readonly Matcher[]): (node: string) => boolean {
  const own = matchers.filter((m) => m.name === nodeLabel).map(compileMatcher);
  return (node) => own.every((m) => m.matches(node));
}
