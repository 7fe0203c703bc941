import type { Memory } from '../../base/memory-pool.ts';
import { CutJson } from '../../base/text/cut-json.ts';
import { isObject } from '../../base/text/texts.ts';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import type { TlsStreamResponse } from '../../net/tls-client.ts';
import { QueryError, takeMemory } from '../../promql/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { askNodes, type NodeTime } from './ask-node.ts';
import { AgentFailure, asAgentFailure, reasonOfStatus } from './failure.ts';
import type { LostNode } from './failure.ts';
import { callAgent, type AgentTime, type AgentWay, type CallableAgent } from './readers/call-agent.ts';

/** Largest answer of one agent to a request about its series. Bytes. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** The list in an answer that may be long. Its elements are parsed a few at a time. */
const list = 'data[]';
/** Memory of a parsed answer for each byte of its text: as the values of JSON, as checked values, and as labels. */
const heldPerByte = 5;
/** Reading a byte costs as much as this many samples. */
const byteWork = 2;

/** One request to an agent's own Prometheus-shaped API: with a form where `form` is given, else without a body. */
export interface AgentQuestion {
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
}

/**
 * Sends the request to one agent and returns the `data` of its answer. The answer takes its memory as it arrives.
 * Errors: AgentFailure; the signal's reason; QueryError when the memory is spent.
 */
export type AgentAsker = (
  agent: CallableAgent,
  question: AgentQuestion,
  options: AgentTime & { readonly signal: AbortSignal; readonly memory: Memory | undefined },
) => Promise<unknown>;

/** Sends requests over mutual TLS. */
export function createAgentAsker(way: AgentWay): AgentAsker {
  return (agent, { path, form }, options) => {
    const call = { path, maxBytes: maxAnswerBytes, method: form === undefined ? 'GET' : 'POST' };
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const content = form === undefined ? {} : { headers: type, body: new URLSearchParams(form).toString() };
    const read = async ({ status, body }: TlsStreamResponse): Promise<unknown> => {
      if (status !== 200) {
        const text = (await textOf(body)).slice(0, 200).trim();
        throw new AgentFailure(reasonOfStatus(status), `HTTP ${status}: ${text}`);
      }
      const elements: unknown[] = [];
      const json = new CutJson({ lists: [list], onElements: (_, more) => elements.push(...more) });
      const pace = new Pace(options.signal);
      for await (const part of body) {
        takeMemory(options.memory, part.length * heldPerByte);
        json.add(part);
        if (pace.spend(part.length * byteWork)) await pace.turn();
      }
      const answer = json.end();
      if (!isObject(answer) || answer['status'] !== 'success')
        throw new AgentFailure('protocol', 'the answer does not say success');
      return Array.isArray(answer['data']) ? elements : answer['data'];
    };
    return callAgent(way, agent, { ...call, ...content }, options, read, (error) => error instanceof QueryError);
  };
}

async function textOf(body: TlsStreamResponse['body']): Promise<string> {
  const parts: Buffer[] = [];
  await body.each((part) => parts.push(part));
  return Buffer.concat(parts).toString();
}

/** Validates the `data` of an agent's answer. */
export type ReadAnswer<T> = (data: unknown, pacing: Pacing, node: string) => Promise<T>;

export interface AskOptions extends Omit<NodeTime, 'budget'> {
  readonly agents: readonly ExpectedAgent[];
  readonly memory: Memory;
  readonly asker: AgentAsker;
}

/**
 * Sends the same request to all agents at the same time. `read` validates an answer, in turns by `pacing`, and throws for
 * an invalid one.
 * Guarantees: an agent's answer is whole in `answers`, in order of node names, or its node is in `lost`. A node that
 * is lost gives back the memory that its answers took.
 * Errors: the signal's reason; QueryError when the memory is spent.
 */
export async function askAgents<T>(
  question: AgentQuestion,
  { agents, asker, memory, ...time }: AskOptions,
  read: ReadAnswer<T>,
): Promise<{ answers: T[]; lost: Map<string, LostNode> }> {
  const asked = agents.map((agent) => ({ agent }));
  // These answers have no samples.
  const budget = { left: 0, memory };
  const { answered, lost } = await askNodes(asked, { ...time, budget }, async (agent, own) => {
    const data = await asker(agent, question, { ...own, memory: own.budget.memory });
    try {
      return await read(data, new Pace(own.signal), agent.node);
    } catch (error) {
      own.signal.throwIfAborted();
      throw asAgentFailure(error, true);
    }
  });
  return {
    answers: answered.flatMap(({ answers }) => answers),
    lost: new Map(lost.map((one) => [one.node, one])),
  };
}
