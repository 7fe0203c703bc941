import type { TurnTaking } from '../../../base/turns/turns.ts';
import { callerHeaders } from '../../../net/auth/caller.ts';
import type { TlsClient, TlsRequest, TlsStreamResponse } from '../../../net/tls-client.ts';
import type { AgentNames, ExpectedAgent } from '../../agents/directory.ts';
import { asAgentFailure } from '../failure.ts';

/** The caller on whose behalf an agent is read. */
export interface Asker {
  /** A name for the caller: an agent shares its time fairly among callers. */
  readonly caller?: string;
  /** Decides when the query lets other work run. Default: the one that the whole process shares. */
  readonly turns?: TurnTaking;
}

/** How long an agent may take: less than the query has left, so that the query can still be answered without it. */
export interface AgentTime extends Asker {
  readonly deadlineMs: number;
  /** Upper bound of the deadline after adding the time in which this process was too busy to read. */
  readonly latestMs: number;
}

/** The way to the agents: the client, their port, and the names of their certificates. */
export interface AgentWay {
  readonly client: TlsClient;
  readonly port: number;
  readonly nameOf: AgentNames;
}

/** An agent that can be called. */
export type CallableAgent = ExpectedAgent & { readonly address: string };

/**
 * Sends one request to an agent over mutual TLS, and reads its answer by `read`.
 * Errors: AgentFailure for any fault of the agent; an error for which `passes` is true, unchanged; the signal's reason
 * when the query itself has ended.
 */
export async function callAgent<T>(
  { client, port, nameOf }: AgentWay,
  agent: CallableAgent,
  call: Pick<TlsRequest, 'path' | 'headers' | 'body' | 'maxBytes'> & { readonly method?: string },
  { deadlineMs, latestMs, signal, caller = '' }: AgentTime & { readonly signal: AbortSignal },
  read: (response: TlsStreamResponse) => Promise<T>,
  passes: (error: unknown) => boolean = () => false,
): Promise<T> {
  let headArrived = false;
  try {
    const response = await client.stream({
      host: agent.address,
      port,
      ...nameOf(agent, agent.address),
      method: 'POST',
      ...call,
      headers: { ...call.headers, ...callerHeaders(caller) },
      deadlineMs,
      latestMs,
      signal,
      repeatable: true,
    });
    headArrived = true;
    return await read(response);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw passes(error) ? error : asAgentFailure(error, headArrived);
  }
}
