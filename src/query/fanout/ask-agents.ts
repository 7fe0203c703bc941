import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { TlsClient } from '../../net/tls-client.ts';
import type { AgentNames, ExpectedAgent } from '../agents/directory.ts';
import { AgentFailure, asAgentFailure, reasonOfStatus, unaskedNode } from './failure.ts';
import type { LostNode } from './failure.ts';
import { agentTime } from './fan-out.ts';
import type { AgentTime } from './readers/call-agent.ts';

/** Largest answer of one agent to a request about its series. Bytes. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** One request to an agent's own Prometheus-shaped API: with a form where `form` is given, else without a body. */
export interface AgentQuestion {
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
}

/** Sends the request to one address and returns the `data` of its answer. Errors: AgentFailure; the signal's reason. */
export type AgentAsker = (
  agent: ExpectedAgent & { readonly address: string },
  question: AgentQuestion,
  options: AgentTime & { readonly signal: AbortSignal },
) => Promise<unknown>;

/** Sends requests over mutual TLS. */
export function createAgentAsker(client: TlsClient, port: number, nameOf: AgentNames): AgentAsker {
  return async (agent, { path, form }, { deadlineMs, latestMs, signal }) => {
    let headArrived = false;
    try {
      const { status, body } = await client.request({
        host: agent.address,
        port,
        ...nameOf(agent, agent.address),
        path,
        method: form === undefined ? 'GET' : 'POST',
        ...(form === undefined
          ? {}
          : {
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
              body: new URLSearchParams(form).toString(),
            }),
        deadlineMs,
        latestMs,
        maxBytes: maxAnswerBytes,
        signal,
        repeatable: true,
      });
      headArrived = true;
      const text = body.toString();
      if (status !== 200)
        throw new AgentFailure(reasonOfStatus(status), `HTTP ${status}: ${text.slice(0, 200).trim()}`);
      const answer = JSON.parse(text) as { status?: unknown; data?: unknown } | null;
      if (answer?.status !== 'success') throw new AgentFailure('protocol', 'answer that is no success');
      return answer.data;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw asAgentFailure(error, headArrived);
    }
  };
}

export interface AskOptions {
  readonly agents: readonly ExpectedAgent[];
  readonly asker: AgentAsker;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly remainingMs: number;
}

/**
 * Sends the same request to every agent at once. `read` validates an answer and throws for an invalid one.
 * Guarantees: an agent's answer is whole in `answers`, in order of node names, or its node is in `lost`.
 * Errors: the signal's reason.
 */
export async function askAgents<T>(
  question: AgentQuestion,
  { agents, asker, clock, agentTimeoutMs, signal, remainingMs }: AskOptions,
  read: (data: unknown, node: string) => T,
): Promise<{ answers: T[]; lost: Map<string, LostNode> }> {
  const lost = new Map<string, LostNode>();
  const one = async (agent: ExpectedAgent): Promise<T[]> => {
    const { node, address, more = [] } = agent;
    if (address === undefined) {
      lost.set(node, unaskedNode(agent));
      return [];
    }
    const started = clock.monotonic();
    try {
      const time = agentTime(agent, agentTimeoutMs, remainingMs);
      const all = [address, ...more].map((each) => asker({ ...agent, address: each }, question, { ...time, signal }));
      return (await Promise.all(all)).map((data) => read(data, node));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const { reason, message } = error instanceof AgentFailure ? error : asAgentFailure(error, true);
      lost.set(node, { node, reason, message: errorText(message), elapsedMs: clock.monotonic() - started });
      return [];
    }
  };
  const answers = await Promise.all(agents.map(one));
  return { answers: answers.flat(), lost };
}
