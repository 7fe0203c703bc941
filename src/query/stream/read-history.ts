import type { Clock } from '../../base/clock.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import { lostMessage, type StreamMessage, type StreamRequest } from '../../stream/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { agentTime } from '../fanout/ask-node.ts';
import type { AgentAddress, AgentStreamReader, Received } from './agent-stream.ts';
import { mergeHistory, Newest } from './merge-history.ts';
import { relayName } from './reader-queue.ts';
import { numberOf, type StreamPlan } from './stream-plan.ts';

/** The most memory for items while the newest items of all nodes are being determined. Units: bytes. */
const newestBytes = 16 * 1024 * 1024;
/** A stream has no query deadline that could shorten the deadline of an agent. Units: ms. */
const unlimitedMs = 2 ** 31 - 1;

export interface HistoryOptions {
  readonly read: AgentStreamReader;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Writes messages. Resolves when there is room for more. */
  readonly write: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly onFailure: (agent: AgentAddress, failure: AgentFailure) => void;
  readonly onLost: (source: string, count: number) => void;
  /** Called with each cursor that an agent sends: a position in its ring buffer. */
  readonly onCursor: (agent: AgentAddress, cursor: string) => void;
}

/** The addresses of an agent's pods: two while a pod is replaced. */
export function addressesOf({ node, address, more = [], shared = [] }: ExpectedAgent): AgentAddress[] {
  return address === undefined ? [] : [address, ...more].map((one) => ({ node, address: one, shared }));
}

/** How long an agent may take for the head of its answer. Units: ms. */
export function headMs(agent: ExpectedAgent, agentTimeoutMs: number): number {
  return agentTime(agent, agentTimeoutMs, unlimitedMs).deadlineMs;
}

/**
 * Writes the past items that the plan of a request asks for, from all agents, in order of time.
 * Guarantees: the agents' items are merged exactly as if all of them had been sorted; an agent that fails on the way is
 * reported, and its earlier items are still written. A slow reader only delays the reading of the agents' ring buffers.
 */
export async function readHistory(
  agents: readonly ExpectedAgent[],
  plan: StreamPlan,
  request: StreamRequest,
  options: HistoryOptions,
): Promise<void> {
  const stop = new LinkedAbort(options.signal);
  const { signal } = stop;
  const asked = { ...request, ...numberOf(plan), cursors: true };
  const sources = agents.flatMap((agent) =>
    addressesOf(agent).map((one) => itemsOf(one, asked, headMs(agent, options.agentTimeoutMs), signal, options)),
  );
  try {
    const merged = mergeHistory(sources);
    if (plan.first) await writeFirst(merged, plan.number, options);
    else if (plan.number === Infinity) for await (const batch of merged) await options.write(messagesOf(batch));
    else await writeNewest(merged, plan.number, options);
  } finally {
    stop.abort(new Error('enough was read'));
    for (const source of sources) void source.return(undefined).catch(() => {});
  }
}

async function writeFirst(
  merged: AsyncIterable<readonly Received[]>,
  number: number,
  { write }: HistoryOptions,
): Promise<void> {
  let left = number;
  if (left === 0) return;
  for await (const batch of merged) {
    await write(messagesOf(batch.slice(0, left)));
    left -= batch.length;
    if (left <= 0) return;
  }
}

async function writeNewest(
  merged: AsyncIterable<readonly Received[]>,
  number: number,
  { write, clock, onLost }: HistoryOptions,
): Promise<void> {
  const newest = new Newest(number, newestBytes);
  for await (const batch of merged) for (const item of batch) newest.push(item);
  if (newest.lost > 0) {
    onLost('relay', newest.lost);
    await write([lostMessage('relay', newest.lost, relayName, clock.now())]);
  }
  const { items } = newest;
  for (let at = 0; at < items.length; at += 256) await write(messagesOf(items.slice(at, at + 256)));
}

/** The items of one agent. Its other messages are passed on; a failure is reported and ends the iteration. */
async function* itemsOf(
  agent: AgentAddress,
  request: StreamRequest,
  headLimitMs: number,
  signal: AbortSignal,
  { read, write, onFailure, onLost, onCursor, agentTimeoutMs }: HistoryOptions,
): AsyncGenerator<readonly Received[], void, undefined> {
  try {
    const limits = { headMs: headLimitMs, idleMs: agentTimeoutMs, signal };
    for await (const batch of read(agent, request, limits)) {
      for (const { message } of batch) {
        const { node_status: status, lost, cursor } = message;
        if (cursor !== undefined) onCursor(agent, cursor);
        if (lost) {
          onLost(lost.source, lost.count);
          await write([message]);
        } else if (status && status.state !== 'NODE_CONNECTED') {
          throw new AgentFailure('unreachable', status.message ?? 'it is ending');
        }
      }
      yield batch.filter(({ message }) => message.span || message.flow);
    }
  } catch (error) {
    if (signal.aborted) return;
    onFailure(agent, error instanceof AgentFailure ? error : new AgentFailure('protocol', String(error)));
  }
}

function messagesOf(items: readonly Received[]): StreamMessage[] {
  return items.map(({ message }) => withoutCursor(message));
}

/** A message as readers get it: without the cursor, which is a position in the ring buffer of one agent. */
export function withoutCursor({ cursor: _, ...message }: StreamMessage): StreamMessage {
  return message;
}
