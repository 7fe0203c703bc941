import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError, type ErrorCode } from '../../base/errors.ts';
import { unlimitedMemory, type MemoryLease, type MemoryPool } from '../../base/memory-pool.ts';
import { decodeIndexRequest, encodeIndexAnswer, takeMemory, UnsupportedRequest } from '../../promql/index.ts';
import type { IndexLists, IndexRequest } from '../../promql/index.ts';
import { compileSets } from '../../tsdb/index.ts';
import type { ListOptions, Store } from '../../tsdb/index.ts';
import { Admission, defaultWaitingBytes, refuse } from './admission.ts';
import type { AdmissionLimits, FramedHandler, FramedOutcome, Refusal, Refused } from './admission.ts';
import { collectFrames } from './collect-frames.ts';

export interface IndexLimits extends AdmissionLimits {
  /** Maximum bytes of one answer. Default 64 MiB. */
  readonly maxBytes: number;
}

export const defaultIndexLimits: IndexLimits = {
  maxBytes: 64 * 1024 * 1024,
  concurrency: 4,
  waitingBytes: defaultWaitingBytes,
  deadlineMs: 60_000,
};

export interface IndexDeps {
  readonly store: Pick<Store, 'series' | 'labelNames' | 'labelValues'>;
  readonly node: string;
  readonly clock: Clock;
  readonly limits?: IndexLimits;
  /** The memory that all answers share. Default: no limit. */
  readonly memory?: MemoryPool;
}

/**
 * Answers from the store's indexes of series: label names, values of a label, label sets.
 * Flow: read and check the request → wait for admission → list → encode, all of it before the first byte is sent.
 * Errors: only the signal's; any other failure is returned as an outcome.
 */
export function createIndexHandler(deps: IndexDeps): FramedHandler {
  const { clock, limits = defaultIndexLimits, memory = unlimitedMemory() } = deps;
  const admission = new Admission(clock, limits);
  return async (body, signal, caller = '') => {
    let request: IndexRequest;
    try {
      request = decodeIndexRequest(body);
      compileSets(request.sets);
    } catch (error) {
      return refuse(error instanceof UnsupportedRequest ? 'unsupported' : 'invalid', errorText(error));
    }
    const work = (lease: MemoryLease): Promise<FramedOutcome> => answer(request, deps, limits, lease);
    return admission.answer(request.deadlineMs, { signal, caller, body }, memory, work, refused);
  };
}

async function answer(
  request: IndexRequest,
  { store, node }: IndexDeps,
  limits: IndexLimits,
  { signal, part }: MemoryLease,
): Promise<FramedOutcome> {
  const { kind, startMs, endMs } = request;
  const sets = compileSets(request.sets);
  const foreign = { type: '!=', name: nodeLabel, value: node } as const;
  const strangers = sets.map((set) => [...set, foreign]);
  const partitionClean = (await store.series(strangers, startMs, endMs, { limit: 1, signal })).length === 0;
  const listed = part();
  const lists = await listsOf({ ...request, sets }, store, { signal, hold: (bytes) => takeMemory(listed, bytes) });
  const frames = encodeIndexAnswer({ kind, node, partitionClean }, lists);
  const framed = await collectFrames(frames, Math.min(request.maxBytes, limits.maxBytes), signal, part());
  // From here on only the frames are needed, not the list.
  listed.close();
  return framed;
}

function refused(error: unknown): Refused {
  if (!isOperatorError(error)) return refuse('internal', 'internal error');
  const refusals: Partial<Record<ErrorCode, Refusal>> = { ERR_SELECTION_LIMIT: 'busy', ERR_QUERY_LIMIT: 'over_limit' };
  return refuse(refusals[error.code] ?? 'internal', error.message);
}

async function listsOf(
  { kind, label, sets, startMs, endMs, limit }: IndexRequest,
  store: IndexDeps['store'],
  pacing: Pick<ListOptions, 'signal' | 'hold'>,
): Promise<IndexLists> {
  const options = { limit: limit === 0 ? Infinity : limit, ...pacing };
  switch (kind) {
    case 'names':
      return { texts: await store.labelNames(sets, startMs, endMs, options), series: [] };
    case 'values':
      return { texts: await store.labelValues(label!, sets, startMs, endMs, options), series: [] };
    case 'series':
      return { texts: [], series: await store.series(sets, startMs, endMs, options) };
  }
}
