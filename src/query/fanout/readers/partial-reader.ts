import { nodeLabel } from '../../../api/labels.ts';
import { errorText } from '../../../base/errors.ts';
import { type AgentTime, type AgentWay, callAgent, type CallableAgent } from './call-agent.ts';
import type { TlsStreamResponse } from '../../../net/tls-client.ts';
import {
  encodePartialRequest,
  engineVersion,
  labelValue,
  type LabelPool,
  partialContentType,
  PartialDecoder,
  partialPath,
  QueryError,
  takeMemory,
} from '../../../promql/index.ts';
import type {
  FragmentRequest,
  FragmentResult,
  FragmentSettings,
  PartialHeader,
  PartialRequest,
  PartialStats,
  Steps,
} from '../../../promql/index.ts';
import type { AgentClocks } from '../../agents/agent-clocks.ts';
import { AgentFailure } from '../failure.ts';
import { eachFrame } from './held-frames.ts';
import { attempt } from '../merge/attempt-budget.ts';
import { takeSamples, type SampleBudget } from '../merge/series-collector.ts';

/** Most rows of one agent's answer. */
const maxSeries = 1_000_000;
/** Most bytes of one agent's answer. */
const maxAnswerBytes = 128 * 1024 * 1024;

/** Size of the sample counts of one step. Bytes. */
const countBytes = 16;

const lacksCounts = (node: string): string =>
  `the samples in "stats" lack those of ${node}, whose agent is of an earlier version`;

/** The request of a fragment to one agent. */
export interface PartialCall {
  readonly fragment: FragmentRequest;
  readonly steps: Steps;
  readonly settings: FragmentSettings;
  /** The part of the node's series that the caller may see; undefined: all. */
  readonly visible?: PartialRequest['visible'];
  /** The identity of the fields above, as computed by `planHash`. */
  readonly hash: string;
  /** The earliest time that a fragment with `@` or an offset reads; null for a fragment with neither. */
  readonly shiftedTo: number | null;
  /** The pool of label sets, which the answers of all agents to one request share. */
  readonly pool: LabelPool;
}

export interface PartialReadOptions extends AgentTime {
  readonly budget: SampleBudget;
  readonly maxSamples: number;
  readonly signal: AbortSignal;
}

/** One agent's whole, validated answer. */
export interface PartialReading {
  readonly result: FragmentResult;
  readonly stats: PartialStats;
  readonly bytes: number;
  /** Memory taken from the budget in all. Bytes. */
  readonly heldBytes: number;
  /** The part of it that each group takes without its native histograms. Bytes. */
  readonly groupBytes: readonly number[];
}

/** Requests one agent's share of a query. Resolves to the whole share, or rejects. */
export type PartialReader = (
  agent: CallableAgent,
  call: PartialCall,
  options: PartialReadOptions,
) => Promise<PartialReading>;

/**
 * A healthy agent cannot take part in the execution path (the way of executing) that a query has taken, so the whole
 * query takes another path.
 */
export class StepDown extends Error {
  readonly reason: string;
  /** True when the next path may work, on which agents evaluate smaller parts; false when only raw chunks will. */
  readonly gently: boolean;

  constructor(reason: string, gently = false) {
    super(reason);
    this.name = 'StepDown';
    this.reason = reason;
    this.gently = gently;
  }
}

/**
 * Reads partial answers over mutual TLS.
 * Guarantees: a read that fails takes nothing from the budget.
 * Errors: AgentFailure for any fault of the agent; StepDown when the agent states, or the header of its answer shows,
 * that its share cannot be used on this path; QueryError `execution` when the fragment fails on the node's data, or
 * when the sample budget is spent; the signal's reason when the query itself has ended.
 */
export function createPartialReader(way: AgentWay, clocks?: Pick<AgentClocks, 'ask'>): PartialReader {
  const readOne: PartialReader = async (agent, call, options) => {
    const { fragment, steps } = call;
    const { deadlineMs, budget, maxSamples } = options;
    const limits = { maxSeries, maxBytes: maxAnswerBytes, maxSamples, deadlineMs: Math.max(1, Math.round(deadlineMs)) };
    const request = {
      path: partialPath,
      headers: { 'content-type': 'application/json', accept: partialContentType },
      body: encodePartialRequest({ ...call, ...limits }, call.hash),
      maxBytes: maxAnswerBytes + 1024,
    };
    const answered = clocks?.ask(agent.node);
    const read = async (response: TlsStreamResponse): Promise<PartialReading> => {
      if (response.status !== 200) throw await refusal(response, fragment.kind);
      answered?.(response.headers.date);
      const type = response.headers['content-type'];
      if (type !== partialContentType) throw new AgentFailure('protocol', `content type ${JSON.stringify(type ?? '')}`);
      let heldBytes = 0;
      const hold = (more: number): void => {
        takeMemory(budget.memory, more);
        heldBytes += more;
      };
      if (fragment.countSamples === true) hold(countBytes * steps.count);
      const decoder = new PartialDecoder({
        fragment,
        steps: steps.count,
        maxSeries,
        pool: call.pool,
        onHeader: (header) => checkHeader(header, agent.node, call),
        hold,
        onColumn: ({ labels }) => {
          // The answer to a fragment of kind `whole` has only the labels that the query keeps, often not the node's.
          if (fragment.kind !== 'whole') checkNode(labelValue(labels, nodeLabel), agent.node);
        },
      });
      let bytes = 0;
      await eachFrame(response.body, 'partial answer', maxAnswerBytes, budget.memory, (message) => {
        bytes += message.length;
        // Every eight bytes, the size of a double, count as one sample.
        takeSamples(budget, message.length / 8);
        decoder.add(message);
      });
      const { result, stats, groupBytes } = decoder.finish();
      const { samples } = result;
      const isLacking = fragment.countSamples === true && samples === undefined;
      const warnings = isLacking ? [...result.warnings, lacksCounts(agent.node)] : result.warnings;
      return { result: { ...result, warnings }, stats, bytes, heldBytes, groupBytes };
    };
    const passes = (error: unknown): boolean => error instanceof StepDown || error instanceof QueryError;
    return callAgent(way, agent, request, options, read, passes);
  };
  return (agent, call, options) => attempt(options.budget, (budget) => readOne(agent, call, { ...options, budget }));
}

function checkHeader(header: PartialHeader, node: string, { shiftedTo, hash }: PartialCall): void {
  checkNode(header.node, node);
  if (header.engineVersion !== engineVersion)
    throw new StepDown(`engine ${header.engineVersion}, ours is ${engineVersion}`);
  if (header.planHash !== hash) throw new AgentFailure('protocol', 'answer to another plan');
  if (!header.labelsOwned.includes(nodeLabel)) throw new StepDown(`the agent does not own ${nodeLabel}`);
  if (!header.partitionClean) throw new StepDown('series that carry the name of another node');
  if (shiftedTo !== null && header.minT !== null && shiftedTo < header.minT) {
    throw new StepDown('@ or an offset reads before the first sample of the agent');
  }
}

export function checkNode(found: string, node: string): void {
  if (found === node) return;
  throw new AgentFailure('protocol', `answer of ${JSON.stringify(found)} from the agent of ${node}`);
}

/** The error for a status other than 200. */
export async function refusal(
  { status, body }: TlsStreamResponse,
  kind: FragmentRequest['kind'] = 'series',
): Promise<Error> {
  let text = '';
  for await (const part of body) if (text.length < 1_000) text += part.toString();
  const message = messageOf(text.slice(0, 1_000));
  switch (status) {
    case 401:
    case 403:
      return new AgentFailure('auth', `HTTP ${status}: ${message}`);
    case 404:
    case 405:
      return new StepDown('the agent has no partial answers');
    case 413:
      // On a lower path, the agent's limits apply to each part of the query by itself.
      return new StepDown(`over a limit of the agent: ${message}`, kind === 'whole');
    case 422:
      return new QueryError('execution', message);
    case 429:
    case 503:
      return new AgentFailure('over limit', `HTTP ${status}: ${message}`);
    case 501:
      return new StepDown(`not supported by the agent: ${message}`, true);
    case 504:
      return new AgentFailure('timeout', message);
    default:
      return new AgentFailure('protocol', `HTTP ${status}: ${message}`);
  }
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch (error) {
    return `${text.slice(0, 200).trim()} (${errorText(error)})`;
  }
  return text.slice(0, 200).trim();
}
