import { turns, type TurnTaking } from '../../../base/turns/turns.ts';
import { callerHeaders } from '../../../net/caller.ts';
import type { TlsClient } from '../../../net/tls-client.ts';
import { buildStreamedRead, partitionHeader, readStreamedSeries, remoteReadPath } from '../../../tsdb/index.ts';
import type { ReadQuery } from '../../../tsdb/index.ts';
import type { AgentNames, ExpectedAgent } from '../../agents/directory.ts';
import { AgentFailure, asAgentFailure, reasonOfStatus } from '../failure.ts';
import { SeriesCollector } from '../merge/series-collector.ts';
import type { CollectedSeries, SampleBudget } from '../merge/series-collector.ts';

/** Largest answer of one agent. Bytes. */
const maxAnswerBytes = 512 * 1024 * 1024;

/**
 * A turn ends after this many series, some eight milliseconds. Fewer would slow this read to a crawl while short
 * requests run.
 */
const seriesPerTurn = 512;

/** The caller on whose behalf an agent is read. */
export interface Asker {
  /** The key under which the agent shares its time among callers. */
  readonly caller?: string;
  /** The turns of the query. Default: those of the process. */
  readonly turns?: TurnTaking;
}

/** How long an agent may take: less than the rest of the query, so that the answer can still be made without it. */
export interface AgentTime extends Asker {
  readonly deadlineMs: number;
  /** Upper bound of the deadline after adding the time in which this process was too busy to read. */
  readonly latestMs: number;
}

export interface AgentReadOptions extends AgentTime {
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
  /** Called when the agent states that some of its series carry another node's name. */
  readonly onForeign?: () => void;
}

/** Reads several selectors from one agent in one request: all of them whole, or an AgentFailure. */
export type AgentReader = (
  agent: ExpectedAgent & { readonly address: string },
  queries: readonly ReadQuery[],
  options: AgentReadOptions,
) => Promise<CollectedSeries[][]>;

/**
 * Reads agents by stock remote read over mutual TLS.
 * Errors: AgentFailure for any fault of the agent; the signal's reason when the query itself has ended; QueryError when
 * the sample budget is spent.
 */
export function createAgentReader(client: TlsClient, port: number, nameOf: AgentNames): AgentReader {
  return async (agent, queries, { deadlineMs, latestMs, budget, signal, onForeign, caller = '', turns: own }) => {
    const collector = new SeriesCollector(agent.node, queries.length, budget);
    let headArrived = false;
    try {
      const { headers, body } = buildStreamedRead(queries);
      const response = await client.stream({
        host: agent.address,
        port,
        ...nameOf(agent, agent.address),
        method: 'POST',
        path: remoteReadPath,
        headers: { ...headers, ...callerHeaders(caller) },
        body,
        deadlineMs,
        latestMs,
        maxBytes: maxAnswerBytes,
        signal,
        repeatable: true,
      });
      headArrived = true;
      if (response.status !== 200) throw await refusal(response.status, response.body);
      if (response.headers[partitionHeader] === 'false') {
        collector.foreignAllowed = true;
        onForeign?.();
      }
      const type = response.headers['content-type'];
      let count = 0;
      for await (const series of readStreamedSeries(type, response.body)) {
        collector.add(series);
        if (++count % seriesPerTurn === 0) await (own ?? turns).next();
      }
      return collector.finish();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (collector.overBudget) throw error;
      throw asAgentFailure(error, headArrived);
    }
  };
}

async function refusal(status: number, body: AsyncIterable<Uint8Array>): Promise<AgentFailure> {
  let text = '';
  for await (const part of body) if (text.length < 200) text += Buffer.from(part).toString();
  return new AgentFailure(reasonOfStatus(status), `HTTP ${status}: ${text.slice(0, 200).trim()}`);
}
