import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { TlsClient } from '../../net/tls-client.ts';
import { concerns, LineSplitter, parseMessage, type StreamMessage, type StreamRequest } from '../../stream/index.ts';
import type { AgentNames } from '../agents/directory.ts';
import { AgentFailure, asAgentFailure, reasonOfStatus } from '../fanout/failure.ts';

/** A message of an agent, and its approximate size in memory: the length of its line. */
export interface Received {
  readonly message: StreamMessage;
  readonly bytes: number;
}

/** An agent's address, and the node that its messages must name. */
export interface AgentAddress {
  readonly node: string;
  readonly address: string;
  /** Which of the node's addresses belong to agents with the certificate that all agents of earlier versions share. */
  readonly shared?: readonly string[];
}

export interface ReadOptions {
  /** Deadline of connecting and of the head of the answer. Units: ms. */
  readonly headMs: number;
  /** Deadline of each wait for more data; none for a follower, which may receive nothing for hours. Units: ms. */
  readonly idleMs?: number;
  readonly signal: AbortSignal;
}

/**
 * Reads an agent's stream, a batch at a time. It yields only whole and valid messages of the agent's node.
 * Errors: AgentFailure; the signal's reason.
 */
export type AgentStreamReader = (
  agent: AgentAddress,
  request: StreamRequest,
  options: ReadOptions,
) => AsyncGenerator<readonly Received[]>;

/** The longest possible timer: 24 days. */
const longest = 2 ** 31 - 1;

/**
 * Reads over mutual TLS from the agents' stream port. Followers have their own client, because they occupy their
 * connections for a long time, and a client has a limited number of connections to one agent.
 */
export function createAgentStreamReader(
  clients: { readonly followers: TlsClient; readonly others: TlsClient },
  clock: Clock,
  port: number,
  nameOf: AgentNames,
): AgentStreamReader {
  return async function* read(agent, request, { headMs, idleMs, signal }) {
    const { node, address } = agent;
    const link = new LinkedAbort(signal);
    let late: AgentFailure | undefined;
    const within = async <T>(ms: number | undefined, what: string, work: () => Promise<T>): Promise<T> => {
      if (ms === undefined) return work();
      const cancel = clock.setTimeout(() => {
        late = new AgentFailure('timeout', `no ${what} within ${ms} ms`);
        link.abort(late);
      }, ms);
      try {
        return await work();
      } finally {
        cancel();
      }
    };
    const visible = request.namespaces && setOf(request.namespaces);
    try {
      const client = request.follow === true ? clients.followers : clients.others;
      const { status, body } = await within(headMs, 'answer', () =>
        client.stream({
          ...{ host: address, port, ...nameOf(agent, address), method: 'POST', path: '/v1/stream' },
          ...{ body: bodyOf(request), deadlineMs: longest, maxBytes: Infinity, signal: link.signal },
        }),
      );
      const chunks = body[Symbol.asyncIterator]();
      try {
        if (status !== 200) throw await refusal(status, chunks);
        const lines = new LineSplitter();
        for (;;) {
          const { done, value } = await within(idleMs, 'more of the answer', () => chunks.next());
          if (done) return lines.end();
          const batch: Received[] = [];
          try {
            for (const line of lines.take(value as Buffer)) batch.push(received(line, node, visible));
          } finally {
            // When a line is no message, the lines before it are passed on all the same.
            if (batch.length > 0) yield batch;
          }
        }
      } finally {
        link.abort(new Error('the stream is not read any more'));
        await chunks.return?.(undefined).catch(() => {});
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // A broken connection means that the agent is unreachable, whether or not it had begun to answer.
      throw late ?? asAgentFailure(error, false);
    } finally {
      link.release();
    }
  };
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();
const texts = new WeakMap<readonly unknown[], string>();

/** The set of a list; one for all agents that a request with this list goes to. */
function setOf(list: readonly string[]): ReadonlySet<string> {
  let set = sets.get(list);
  if (!set) sets.set(list, (set = new Set(list)));
  return set;
}

/** A request as JSON. Its lists, which the requests to all agents share and which may be long, are encoded once. */
function bodyOf(request: StreamRequest): string {
  const members = Object.entries(request).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`${JSON.stringify(name)}:${Array.isArray(value) ? textOf(value) : JSON.stringify(value)}`],
  );
  return `{${members.join(',')}}`;
}

function textOf(list: readonly unknown[]): string {
  let text = texts.get(list);
  if (text === undefined) texts.set(list, (text = JSON.stringify(list)));
  return text;
}

function received(line: string, node: string, visible: ReadonlySet<string> | undefined): Received {
  const message = soundMessage(line);
  if (message.node !== node) {
    throw new AgentFailure('protocol', `a message of node ${JSON.stringify(message.node.slice(0, 80))}`);
  }
  if (visible && (message.span || message.flow) && !concerns(message, visible)) {
    throw new AgentFailure('protocol', 'an item of a namespace that was not asked for');
  }
  return { message, bytes: line.length };
}

function soundMessage(line: string): StreamMessage {
  try {
    return parseMessage(line);
  } catch (error) {
    if (isOperatorError(error)) throw new AgentFailure('protocol', `an invalid message: ${error.message}`);
    throw error;
  }
}

async function refusal(status: number, chunks: AsyncIterator<Buffer>): Promise<AgentFailure> {
  const { value } = await chunks.next().catch((error: unknown) => ({ value: Buffer.from(errorText(error)) }));
  const text = ((value as Buffer | undefined) ?? '').toString().slice(0, 200).trim();
  return new AgentFailure(reasonOfStatus(status), `HTTP ${status}: ${text}`);
}
