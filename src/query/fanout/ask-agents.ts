import type { TlsStreamResponse } from '../../net/tls-client.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { askNodes, type NodeTime } from './ask-node.ts';
import { AgentFailure, asAgentFailure, reasonOfStatus } from './failure.ts';
import type { LostNode } from './failure.ts';
import { callAgent, type AgentTime, type AgentWay, type CallableAgent } from './readers/call-agent.ts';

/** Largest answer of one agent to a request about its series. Bytes. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** One request to an agent's own Prometheus-shaped API: with a form where `form` is given, else without a body. */
export interface AgentQuestion {
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
}

/** Sends the request to one agent and returns the `data` of its answer. Errors: AgentFailure; the signal's reason. */
export type AgentAsker = (
  agent: CallableAgent,
  question: AgentQuestion,
  options: AgentTime & { readonly signal: AbortSignal },
) => Promise<unknown>;

/** Sends requests over mutual TLS. */
export function createAgentAsker(way: AgentWay): AgentAsker {
  return (agent, { path, form }, options) => {
    const call = { path, maxBytes: maxAnswerBytes, method: form === undefined ? 'GET' : 'POST' };
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const content = form === undefined ? {} : { headers: type, body: new URLSearchParams(form).toString() };
    const read = async ({ status, body }: TlsStreamResponse): Promise<unknown> => {
      const chunks: Buffer[] = [];
      await body.each((chunk) => chunks.push(chunk));
      const text = Buffer.concat(chunks).toString();
      if (status !== 200)
        throw new AgentFailure(reasonOfStatus(status), `HTTP ${status}: ${text.slice(0, 200).trim()}`);
      const answer = JSON.parse(text) as { status?: unknown; data?: unknown } | null;
      if (answer?.status !== 'success') throw new AgentFailure('protocol', 'the answer does not say success');
      return answer.data;
    };
    return callAgent(way, agent, { ...call, ...content }, options, read);
  };
}

export interface AskOptions extends NodeTime {
  readonly agents: readonly ExpectedAgent[];
  readonly asker: AgentAsker;
}

/**
 * Sends the same request to all agents at the same time. `read` validates an answer and throws for an invalid one.
 * Guarantees: an agent's answer is whole in `answers`, in order of node names, or its node is in `lost`.
 * Errors: the signal's reason.
 */
export async function askAgents<T>(
  question: AgentQuestion,
  { agents, asker, ...time }: AskOptions,
  read: (data: unknown, node: string) => T,
): Promise<{ answers: T[]; lost: Map<string, LostNode> }> {
  const asked = agents.map((agent) => ({ agent }));
  const { answered, lost } = await askNodes(asked, time, async (agent, own) => {
    const data = await asker(agent, question, own);
    try {
      return read(data, agent.node);
    } catch (error) {
      throw asAgentFailure(error, true);
    }
  });
  return {
    answers: answered.flatMap(({ answers }) => answers),
    lost: new Map(lost.map((one) => [one.node, one])),
  };
}
