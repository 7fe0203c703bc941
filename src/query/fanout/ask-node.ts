import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { allOrNone } from './all-or-none.ts';
import { AgentFailure } from './failure.ts';
import type { LostNode } from './failure.ts';
import { attempt } from './merge/attempt-budget.ts';
import type { SampleBudget } from './merge/series-collector.ts';
import type { AgentTime, CallableAgent } from './readers/call-agent.ts';

/** A node that Kubernetes reports as not ready is asked, but with at most this deadline. */
const unreadyDeadlineMs = 1_000;

/** The inputs of an agent's deadline, the signal that ends the query, and what the query may take. */
export interface NodeTime {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly budget: SampleBudget;
  readonly agentTimeoutMs: number;
  /** The rest of the query's time; an agent gets less, so that the answer can still be made without it. */
  readonly remainingMs: number;
}

/** The answers of a node's agents, or why the node is missing. */
export type NodeOutcome<T> = { readonly answers: readonly T[] } | { readonly lost: LostNode };

/** The deadline of one agent, the signal that ends the request to it, and the budget for its answer. */
type AskTime = AgentTime & Pick<NodeTime, 'signal' | 'budget'>;

/**
 * Asks the agents of one node: there are two while its agent is replaced. When one of them does not answer, the answer
 * to the query lacks the node.
 * Guarantees: a node that is lost takes nothing from the budget.
 * Errors: those of `ask` other than AgentFailure, which end the query itself.
 */
export async function askNode<T>(
  agent: ExpectedAgent,
  { clock, agentTimeoutMs, remainingMs, signal: outer, budget: whole }: NodeTime,
  ask: (agent: CallableAgent, time: AskTime) => Promise<T>,
): Promise<NodeOutcome<T>> {
  const { node, address, more = [], absence } = agent;
  // Without an agent no request is sent, and no time is spent.
  if (address === undefined) {
    return { lost: { node, reason: 'unreachable', message: absence ?? 'no agent pod', elapsedMs: 0 } };
  }
  const started = clock.monotonic();
  const time = agentTime(agent, agentTimeoutMs, remainingMs);
  try {
    const answers = await attempt(whole, (budget) => {
      const asks = [address, ...more].map(
        (one) => (signal: AbortSignal) => ask({ ...agent, address: one }, { ...time, signal, budget }),
      );
      return allOrNone(outer, asks);
    });
    return { answers };
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    const { reason } = error;
    return { lost: { node, reason, message: errorText(error), elapsedMs: clock.monotonic() - started } };
  }
}

/**
 * Asks several nodes at the same time, each as `askNode` does. Returns the answers of the nodes that answered, in the
 * order of `asked`, and the lost nodes.
 */
export async function askNodes<A extends { readonly agent: ExpectedAgent }, T>(
  asked: readonly A[],
  time: NodeTime,
  ask: (agent: CallableAgent, time: AskTime, one: A) => Promise<T>,
): Promise<{ readonly answered: (A & { readonly answers: readonly T[] })[]; readonly lost: LostNode[] }> {
  const outcomes = await Promise.all(
    asked.map(async (one) => ({ ...one, ...(await askNode(one.agent, time, (agent, own) => ask(agent, own, one))) })),
  );
  return {
    answered: outcomes.filter((outcome) => 'answers' in outcome),
    lost: outcomes.flatMap((outcome) => ('lost' in outcome ? [outcome.lost] : [])),
  };
}

/** The deadline of one agent, from its own limit and the rest of the query's time. */
export function agentTime({ nodeReady }: ExpectedAgent, agentTimeoutMs: number, remainingMs: number): AgentTime {
  const whole = nodeReady ? agentTimeoutMs : Math.min(unreadyDeadlineMs, agentTimeoutMs);
  const atMost = (share: number): number => Math.max(1, Math.floor(remainingMs * share));
  return { deadlineMs: Math.max(1, Math.min(Math.floor(whole), atMost(0.8))), latestMs: atMost(0.9) };
}
