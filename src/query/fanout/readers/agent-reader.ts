import { turns } from '../../../base/turns/turns.ts';
import { type AgentTime, type AgentWay, callAgent, type CallableAgent } from './call-agent.ts';
import type { TlsStreamResponse } from '../../../net/tls-client.ts';
import { QueryError } from '../../../promql/index.ts';
import {
  buildStreamedRead,
  partitionHeader,
  readStreamedSeries,
  remoteReadPath,
  splitQueries,
} from '../../../tsdb/index.ts';
import type { ReadQuery } from '../../../tsdb/index.ts';
import { allOrNone } from '../all-or-none.ts';
import { AgentFailure, reasonOfStatus } from '../failure.ts';
import { attempt } from '../merge/attempt-budget.ts';
import { SeriesCollector } from '../merge/series-collector.ts';
import type { CollectedSeries, SampleBudget } from '../merge/series-collector.ts';

/** An answer of one agent may have at most this many bytes. */
const maxAnswerBytes = 512 * 1024 * 1024;

/** Most bytes of one frame: agents close a frame at 1 MiB, and a single chunk is not larger. */
const maxFrameBytes = 16 * 1024 * 1024;

/**
 * Other work gets a turn after this many series, which take some eight milliseconds. Fewer would slow this read to a
 * crawl while short requests run.
 */
const seriesPerTurn = 512;

export interface AgentReadOptions extends AgentTime {
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
  /** Called when the agent states that some of its series carry another node's name. */
  readonly onForeign?: () => void;
}

/** Reads several selectors from one agent: all of them whole, or an AgentFailure. */
export type AgentReader = (
  agent: CallableAgent,
  queries: readonly ReadQuery[],
  options: AgentReadOptions,
) => Promise<CollectedSeries[][]>;

/**
 * Reads agents by stock remote read over mutual TLS: in one request, or in several at the same time where one would be
 * larger than an agent reads. A user's namespaces make selectors long.
 * Guarantees: a read that fails takes nothing from the budget.
 * Errors: AgentFailure for any fault of the agent; the signal's reason when the query itself has ended; QueryError when
 * the sample budget is spent.
 */
export function createAgentReader(way: AgentWay): AgentReader {
  const readOne: AgentReader = async (agent, queries, options) => {
    const { budget, onForeign, turns: own = turns } = options;
    // Without this, the requests to all agents, up to 2 MiB each, would be encoded in one turn of the event loop.
    if (own.due()) await own.next();
    const collector = new SeriesCollector(agent.node, queries.length, budget);
    const call = { path: remoteReadPath, ...buildStreamedRead(queries), maxBytes: maxAnswerBytes };
    const read = async ({ status, headers, body }: TlsStreamResponse): Promise<CollectedSeries[][]> => {
      if (status !== 200) throw await refusal(status, body);
      if (headers[partitionHeader] === 'false') {
        collector.foreignAllowed = true;
        onForeign?.();
      }
      let count = 0;
      for await (const series of readStreamedSeries(headers['content-type'], body, maxFrameBytes)) {
        collector.add(series);
        if (++count % seriesPerTurn === 0) await own.next();
      }
      return collector.finish();
    };
    return callAgent(way, agent, call, options, read, (error) => error instanceof QueryError);
  };
  return (agent, queries, options) =>
    attempt(options.budget, async (budget) => {
      const requests = splitQueries(queries).map(
        (some) => (signal: AbortSignal) => readOne(agent, some, { ...options, budget, signal }),
      );
      return (await allOrNone(options.signal, requests)).flat();
    });
}

async function refusal(status: number, body: AsyncIterable<Uint8Array>): Promise<AgentFailure> {
  let text = '';
  for await (const part of body) if (text.length < 200) text += Buffer.from(part).toString();
  return new AgentFailure(reasonOfStatus(status), `HTTP ${status}: ${text.slice(0, 200).trim()}`);
}
