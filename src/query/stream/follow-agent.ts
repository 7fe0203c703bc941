import { type Clock, sleep } from '../../base/clock.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { StreamMessage, StreamRequest } from '../../stream/index.ts';
import { AgentFailure, type FailureReason } from '../fanout/failure.ts';
import type { AgentAddress, AgentStreamReader, Received } from './agent-stream.ts';

export interface FollowOptions {
  readonly read: AgentStreamReader;
  readonly clock: Clock;
  /** The request's filters and scope. `followAgent` sets its fields about past items and the position. */
  readonly request: StreamRequest;
  readonly headMs: number;
  /** Where to resume; undefined: only new items are read. */
  readonly cursor: string | undefined;
  /** The kind of failure that has already been reported for this agent. */
  readonly told?: FailureReason | undefined;
  readonly signal: AbortSignal;
  readonly onItem: (item: Received) => void;
  readonly onLost: (message: StreamMessage) => void;
  /** Called with each position, before any later item is passed on. */
  readonly onCursor: (cursor: string) => void;
  /**
   * Called when the agent is connected. `onFailure` is called for the first failure after that, and for each later
   * failure of another kind than the previous one.
   */
  readonly onConnected: () => void;
  readonly onFailure: (failure: AgentFailure) => void;
}

/** After this much silence the agent is probed. Units: ms. */
const silenceMs = 30_000;
/**
 * Back-off between two attempts: it doubles from the first delay to the longest, and begins anew after a connection that
 * brought anything or lasted. Units: ms.
 */
const firstDelayMs = 250;
const longestDelayMs = 10_000;

/**
 * Follows one agent until the signal aborts: connects, and after a break connects again at the same position.
 * Guarantees: no item is passed on twice, and no item that the agent still has is skipped; the agent reports how many
 * it no longer has. Never rejects.
 */
export async function followAgent(agent: AgentAddress, options: FollowOptions): Promise<void> {
  const { clock, signal } = options;
  let delay = firstDelayMs;
  let { cursor, told } = options;
  let connectedAt = Infinity;
  const heard: Heard = {
    connected: () => {
      connectedAt = clock.monotonic();
      told = undefined;
      options.onConnected();
    },
    // A mere connection does not count: an agent may connect and then fail at the same position each time.
    came: () => void (delay = firstDelayMs),
    cursor: (next) => options.onCursor((cursor = next)),
  };
  while (!signal.aborted) {
    connectedAt = Infinity;
    try {
      await readOn(agent, options, cursor, heard);
      throw new AgentFailure('unreachable', 'the agent ended the stream');
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof AgentFailure ? error : new AgentFailure('protocol', String(error));
      if (failure.reason !== told) options.onFailure(failure);
      told = failure.reason;
      if (clock.monotonic() - connectedAt >= longestDelayMs) delay = firstDelayMs;
    }
    await sleep(clock, delay, signal).catch(() => {});
    delay = Math.min(2 * delay, longestDelayMs);
  }
}

/** What one connection tells: that it is made, that an item or a loss came, and its position. */
interface Heard {
  readonly connected: () => void;
  readonly came: () => void;
  readonly cursor: (cursor: string) => void;
}

async function readOn(
  agent: AgentAddress,
  options: FollowOptions,
  cursor: string | undefined,
  heard: Heard,
): Promise<void> {
  const { read, clock, headMs } = options;
  const stop = new LinkedAbort(options.signal);
  const { signal } = stop;
  const request = {
    ...options.request,
    follow: true,
    cursors: true,
    ...(cursor === undefined ? {} : { after: cursor }),
  };
  let heardAt = clock.monotonic();
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(clock, Math.max(1, heardAt + silenceMs - clock.monotonic()), signal).catch(() => {});
      if (signal.aborted || clock.monotonic() - heardAt < silenceMs) continue;
      const silent = await answers(agent, options, signal);
      if (silent) stop.abort(silent);
      else heardAt = clock.monotonic();
    }
  };
  void listen();
  try {
    for await (const batch of read(agent, request, { headMs, signal })) {
      heardAt = clock.monotonic();
      for (const received of batch) {
        const { message } = received;
        if (message.node_status?.state === 'NODE_CONNECTED') heard.connected();
        else if (message.node_status)
          throw new AgentFailure('unreachable', message.node_status.message ?? 'it is ending');
        else {
          heard.came();
          if (message.lost) options.onLost(message);
          else options.onItem(received);
        }
        if (message.cursor !== undefined) heard.cursor(message.cursor);
      }
    }
  } finally {
    stop.abort(new Error('the stream is over'));
  }
}

/** Probes the agent with a request for no items. Undefined when it answers. */
async function answers(
  agent: AgentAddress,
  { read, headMs }: FollowOptions,
  signal: AbortSignal,
): Promise<AgentFailure | undefined> {
  try {
    const answer = read(agent, { number: 0, cursors: true }, { headMs, idleMs: headMs, signal });
    for await (const _ of answer);
    return undefined;
  } catch (error) {
    return error instanceof AgentFailure && !signal.aborted ? error : undefined;
  }
}
