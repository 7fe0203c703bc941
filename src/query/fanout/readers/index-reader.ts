import { nodeLabel } from '../../../api/labels.ts';
import { turns } from '../../../base/turns/turns.ts';
import { type AgentTime, type AgentWay, callAgent, type CallableAgent } from './call-agent.ts';
import type { TlsStreamResponse } from '../../../net/tls-client.ts';
import {
  encodeIndexRequest,
  indexContentType,
  IndexDecoder,
  indexPath,
  labelValue,
  maxSetMatchers,
  QueryError,
  takeMemory,
} from '../../../promql/index.ts';
import type { IndexHeader, IndexLists, IndexRequest, SeriesPool } from '../../../promql/index.ts';
import { AgentFailure } from '../failure.ts';
import { eachFrame } from './held-frames.ts';
import { checkNode, refusal, StepDown } from './partial-reader.ts';
import { attempt } from '../merge/attempt-budget.ts';
import { takeSamples, type SampleBudget } from '../merge/series-collector.ts';

/** Most bytes of a request that an agent reads. */
const maxRequestBytes = 4 * 1024 * 1024;
/** Most bytes of one agent's answer. */
const maxAnswerBytes = 64 * 1024 * 1024;

const tooLong = (): QueryError => {
  const message = 'the list would take too much memory: ask for less of it by match[], start and end, or by limit';
  return new QueryError('execution', message, { code: 'ERR_QUERY_LIMIT' });
};

/** Takes memory of a list from the budget, and samples: every eight bytes, the size of a double, count as one. */
export function holdList(budget: SampleBudget, bytes: number): void {
  takeMemory(budget.memory, bytes);
  takeSamples(budget, bytes / 8, tooLong);
}

/** A request for label names, label values or series, which agents answer from their label indexes. */
export type IndexQuestion = Omit<IndexRequest, 'maxBytes' | 'deadlineMs'>;

export interface IndexReadOptions extends AgentTime {
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
  /** Shared by all agents of one request. */
  readonly pool: SeriesPool;
}

/** One agent's whole, validated answer. */
export interface IndexReading extends IndexLists {
  /** Some of its series carry another node's name. */
  readonly foreign: boolean;
}

/** Sends a request to one agent. Returns the whole answer, or throws. */
export type IndexReader = (
  agent: CallableAgent,
  question: IndexQuestion,
  options: IndexReadOptions,
) => Promise<IndexReading>;

/** Characters of the names and values of all matchers, which a request has at least. */
function textLength({ sets }: IndexQuestion): number {
  let length = 0;
  for (const set of sets) for (const { name, value } of set) length += name.length + value.length;
  return length;
}

/**
 * Sends requests for lists to agents over mutual TLS.
 * Guarantees: a read that fails takes nothing from the budget. What stays in the pool is charged by the pool.
 * Errors: AgentFailure for any fault of the agent; StepDown when it cannot answer such requests, or not in this
 * version, or not of this size; QueryError `execution` when the budget is spent; the signal's reason when the request
 * itself has ended.
 */
export function createIndexReader(way: AgentWay): IndexReader {
  const readOne: IndexReader = async (agent, question, options) => {
    const limits = { maxBytes: maxAnswerBytes, deadlineMs: Math.max(1, Math.round(options.deadlineMs)) };
    const { budget, pool, turns: own = turns } = options;
    const isTooLong = (): StepDown => new StepDown(`the selectors have more than ${maxRequestBytes} bytes`);
    if (question.sets.some((set) => set.length > maxSetMatchers))
      throw new StepDown(`a selector has more than ${maxSetMatchers} matchers`);
    if (textLength(question) > maxRequestBytes) throw isTooLong();
    // Without this, the requests to all agents would be encoded in one turn of the event loop.
    if (own.due()) await own.next();
    const body = encodeIndexRequest({ ...question, ...limits });
    if (Buffer.byteLength(body) > maxRequestBytes) throw isTooLong();
    const hold = (bytes: number): void => holdList(budget, bytes);
    const call = {
      path: indexPath,
      headers: { 'content-type': 'application/json', accept: indexContentType },
      body,
      maxBytes: maxAnswerBytes + 1024,
    };
    const read = async (response: TlsStreamResponse): Promise<IndexReading> => {
      if (response.status !== 200) {
        const { status } = response;
        const error = await refusal(response);
        if (status === 413) throw new AgentFailure('over limit', error.message);
        // Agents evaluate no query for a list, so this is a fault of one agent and must not fail the whole request.
        if (error instanceof QueryError) throw new AgentFailure('protocol', `HTTP ${status}: ${error.message}`);
        throw error;
      }
      const type = response.headers['content-type'];
      if (type !== indexContentType) throw new AgentFailure('protocol', `content type ${JSON.stringify(type ?? '')}`);
      let isClean = true;
      const { kind, limit } = question;
      const decoder = new IndexDecoder({
        kind,
        limit,
        pool,
        hold,
        onHeader: ({ node, partitionClean }: IndexHeader) => {
          checkNode(node, agent.node);
          isClean = partitionClean;
        },
        onSeries: (labels) => {
          if (isClean) checkNode(labelValue(labels, nodeLabel), agent.node);
        },
      });
      await eachFrame(response.body, 'index answer', maxAnswerBytes, budget.memory, (message) => {
        hold(message.length);
        decoder.add(message);
      });
      const { texts, series } = decoder.finish();
      if (isClean) checkTexts(question, texts, agent.node);
      return { texts, series, foreign: !isClean };
    };
    const passes = (error: unknown): boolean => error instanceof StepDown || error instanceof QueryError;
    return callAgent(way, agent, call, options, read, passes);
  };
  return (agent, question, options) =>
    attempt(options.budget, (budget) => readOne(agent, question, { ...options, budget }));
}

/**
 * Checks that every series carries its node's name: a list of names without a limit contains the node label, and a list
 * of that label's values contains only the node's name.
 */
function checkTexts({ kind, label, limit }: IndexQuestion, texts: readonly string[], node: string): void {
  if (kind === 'values' && label === nodeLabel) for (const text of texts) checkNode(text, node);
  if (kind === 'names' && limit === 0 && texts.length > 0 && !texts.includes(nodeLabel))
    throw new AgentFailure('protocol', `series without ${nodeLabel} from the agent of ${node}`);
}
