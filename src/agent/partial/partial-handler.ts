import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import {
  decodePartialRequest,
  encodePartial,
  engineVersion,
  evaluateFragment,
  planHash,
  QueryError,
  UnsupportedRequest,
} from '../../promql/index.ts';
import type { FragmentResult, PartialHeader, PartialRequest } from '../../promql/index.ts';
import { Gate } from '../../tsdb/index.ts';
import type { Store } from '../../tsdb/index.ts';
import { StoreSource } from './store-source.ts';

/** The label that says on which node a series was captured. */
const nodeLabel = 'k8s_node_name';

/** Bounds of the agent's own: what a request asks for is cut to them. */
export interface PartialLimits {
  /** Most samples one evaluation may read, and hold. Default 20 million. */
  readonly maxSamples: number;
  /** Most bytes of one answer. Default 128 MiB. */
  readonly maxBytes: number;
  /** Evaluations at a time; others wait. Default 4. */
  readonly concurrency: number;
  /** Requests that may wait; further ones are refused. Default 64. */
  readonly waiting: number;
  /** Longest time of one request, waiting included. Milliseconds. Default 60 s. */
  readonly deadlineMs: number;
}

export const defaultPartialLimits: PartialLimits = {
  maxSamples: 20_000_000,
  maxBytes: 128 * 1024 * 1024,
  concurrency: 4,
  waiting: 64,
  deadlineMs: 60_000,
};

export interface PartialDeps {
  readonly store: Pick<Store, 'select' | 'stats'>;
  readonly node: string;
  readonly clock: Clock;
  readonly limits?: PartialLimits;
}

/** Why there is no answer. `unsupported` and `over_limit` tell the asker to take another way. */
export type PartialRefusal = 'unsupported' | 'invalid' | 'execution' | 'over_limit' | 'busy' | 'timeout' | 'internal';

export type PartialOutcome =
  | { readonly frames: readonly Uint8Array[]; readonly bytes: number }
  | { readonly refusal: PartialRefusal; readonly message: string };

export type PartialHandler = (body: string, signal: AbortSignal) => Promise<PartialOutcome>;

/**
 * Computes this node's share of a query over its own store.
 * Flow: read and check the request → wait at the gate → evaluate → encode, all of it before the first byte is sent, so
 * that what goes wrong has a status and an answer that was begun is whole.
 * Errors: none but the signal's; all else is an outcome.
 */
export function createPartialHandler(deps: PartialDeps): PartialHandler {
  const { clock, limits = defaultPartialLimits } = deps;
  const gate = new Gate(limits.concurrency);
  let waiting = 0;
  return async (body, signal) => {
    let request: PartialRequest;
    try {
      request = decodePartialRequest(body);
    } catch (error) {
      return refuse(error instanceof UnsupportedRequest ? 'unsupported' : 'invalid', errorText(error));
    }
    if (waiting >= limits.waiting) return refuse('busy', `${waiting} requests wait already`);
    const time = new AbortController();
    const deadlineMs = Math.min(request.deadlineMs, limits.deadlineMs);
    const cancelTimer = clock.setTimeout(() => time.abort(new DOMException('deadline', 'TimeoutError')), deadlineMs);
    const either = AbortSignal.any([signal, time.signal]);
    const started = clock.monotonic();
    let leave = (): void => {};
    try {
      waiting++;
      leave = await gate.enter(either).finally(() => waiting--);
      return await answer(request, deps, limits, either, started);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (time.signal.aborted) return refuse('timeout', `not done within ${deadlineMs} ms`);
      return refuse(refusalOf(error), errorText(error));
    } finally {
      leave();
      cancelTimer();
    }
  };
}

async function answer(
  request: PartialRequest,
  { store, node, clock }: PartialDeps,
  limits: PartialLimits,
  signal: AbortSignal,
  started: number,
): Promise<PartialOutcome> {
  const entered = clock.monotonic();
  const { fragment, steps, settings } = request;
  const maxSamples = Math.min(request.maxSamples, limits.maxSamples);
  const source = new StoreSource({ store, partition: { label: nodeLabel, value: node }, maxSamples });
  const result = await evaluateFragment(fragment, source, steps, { settings, maxSamples, signal });
  const rows = result.columns.length + result.groups.length;
  if (rows > request.maxSeries)
    return refuse('over_limit', `${rows} rows, at most ${request.maxSeries} were asked for`);
  const { oldestMs = null, newestMs = null } = store.stats();
  const header: PartialHeader = {
    planHash: planHash(request),
    node,
    labelsOwned: [nodeLabel],
    minT: oldestMs,
    maxT: newestMs,
    partitionClean: source.partitionClean,
    engineVersion,
  };
  const stats = { waitMs: entered - started, evaluateMs: clock.monotonic() - entered };
  return encode(header, result, stats, Math.min(request.maxBytes, limits.maxBytes), signal);
}

async function encode(
  header: PartialHeader,
  result: FragmentResult,
  stats: { waitMs: number; evaluateMs: number },
  maxBytes: number,
  signal: AbortSignal,
): Promise<PartialOutcome> {
  const frames: Uint8Array[] = [];
  let bytes = 0;
  for (const frame of encodePartial(header, result, stats)) {
    frames.push(frame);
    bytes += frame.length;
    if (bytes > maxBytes) return refuse('over_limit', `answer of more than ${maxBytes} bytes`);
    if (frames.length % 16 === 0) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  return { frames, bytes };
}

function refusalOf(error: unknown): PartialRefusal {
  if (!(error instanceof QueryError)) return 'internal';
  if (error.code === 'ERR_QUERY_LIMIT') return 'over_limit';
  switch (error.errorType) {
    case 'bad_data':
      // A plan's text always parses for the one who made it: here it does not.
      return 'unsupported';
    case 'execution':
    case 'timeout':
      return error.errorType;
    default:
      return 'internal';
  }
}

function refuse(refusal: PartialRefusal, message: string): PartialOutcome {
  return { refusal, message };
}
