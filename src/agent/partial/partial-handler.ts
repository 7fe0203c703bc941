import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { type MemoryLease, type MemoryPool, unlimitedMemory } from '../../base/memory-pool.ts';
import { turns, type TurnTaking } from '../../base/turns/turns.ts';
import {
  decodePartialRequest,
  type DeferredSeries,
  encodePartial,
  engineVersion,
  evaluateFragment,
  type Matcher,
  type PartialHeader,
  QueryError,
  type ReceivedRequest,
  type SelectRequest,
  type SelectResult,
  type Series,
  type SeriesSource,
  UnsupportedRequest,
} from '../../promql/index.ts';
import { compareLabels, type Store } from '../../tsdb/index.ts';
import {
  Admission,
  type AdmissionLimits,
  defaultWaitingBytes,
  type FramedHandler,
  type FramedOutcome,
  type Refusal,
  type Refused,
  refuse,
} from './admission.ts';
import { collectFrames } from './collect-frames.ts';
import { StoreSource } from './store-source.ts';

/**
 * A source that shows only the series that match all matchers of at least one selector. No series matches two of the
 * selectors. Everything that an evaluation reads passes through its source, so no part of an expression can bypass the
 * selectors.
 */
class VisibleSource implements SeriesSource {
  readonly #source: SeriesSource;
  readonly #visible: readonly (readonly Matcher[])[];

  constructor(source: SeriesSource, visible: readonly (readonly Matcher[])[]) {
    this.#source = source;
    this.#visible = visible;
  }

  async select(request: SelectRequest): Promise<SelectResult> {
    const parts = await Promise.all(
      this.#visible.map((set) => this.#source.select({ ...request, matchers: [...request.matchers, ...set] })),
    );
    const series: (Series | DeferredSeries)[] = parts.flatMap((part) => part.series);
    const isSorted = parts.filter((part) => part.series.length > 0).length < 2 && parts.every(({ sorted }) => sorted);
    if (!isSorted) series.sort((a, b) => compareLabels(a.labels, b.labels));
    return {
      series,
      sorted: true,
      heldBytes: parts.reduce((sum, { heldBytes = 0 }) => sum + heldBytes, 0),
      warnings: parts.flatMap(({ warnings = [] }) => warnings),
    };
  }
}

/** The agent's own limits, which cap those that a request asks for. */
export interface PartialLimits extends AdmissionLimits {
  /** Maximum number of samples that one evaluation may read, and may have in memory. Default 20 million. */
  readonly maxSamples: number;
  /** Maximum bytes of one answer. Default 128 MiB. */
  readonly maxBytes: number;
}

export const defaultPartialLimits: PartialLimits = {
  maxSamples: 20_000_000,
  maxBytes: 128 * 1024 * 1024,
  concurrency: 4,
  waitingBytes: defaultWaitingBytes,
  deadlineMs: 60_000,
};

export interface PartialDeps {
  readonly store: Pick<Store, 'select' | 'hold' | 'prepare' | 'stats'>;
  readonly node: string;
  readonly clock: Clock;
  readonly limits?: PartialLimits;
  /** The memory that all evaluations use together. Default: no limit. */
  readonly memory?: MemoryPool;
}

/**
 * Computes this node's part of a query from the samples in its own store.
 * Flow: read and check the request → wait for admission, and for memory → evaluate → encode, all of it before the first
 * byte is sent, so that an error can still become a status and an answer that has begun is complete.
 * Errors: only the reason of an aborted signal; any other failure is returned as an outcome.
 */
export function createPartialHandler(deps: PartialDeps): FramedHandler {
  const { clock, limits = defaultPartialLimits, memory = unlimitedMemory() } = deps;
  const admission = new Admission(clock, limits);
  return async (body, signal, caller = '') => {
    let request: ReceivedRequest;
    try {
      request = decodePartialRequest(body);
    } catch (error) {
      return refuse(error instanceof UnsupportedRequest ? 'unsupported' : 'invalid', errorText(error));
    }
    const work = async (lease: MemoryLease, waitMs: number): Promise<FramedOutcome> => {
      const own = turns.begin(caller, lease.signal);
      try {
        return await answer(request, deps, limits, { lease, turns: own, waitMs });
      } finally {
        own.end();
      }
    };
    const refused = (error: unknown): Refused => refuse(refusalOf(error), errorText(error));
    return admission.answer(request.deadlineMs, { signal, caller, body }, memory, work, refused);
  };
}

async function answer(
  request: ReceivedRequest,
  { store, node, clock }: PartialDeps,
  limits: PartialLimits,
  { lease, turns: own, waitMs }: { lease: MemoryLease; turns: TurnTaking; waitMs: number },
): Promise<FramedOutcome> {
  const entered = clock.monotonic();
  const { fragment, steps, settings, visible } = request;
  const maxSamples = Math.min(request.maxSamples, limits.maxSamples);
  const source = new StoreSource({ store, partition: { label: nodeLabel, value: node }, maxSamples });
  const seen = visible === undefined ? source : new VisibleSource(source, visible);
  const { signal } = lease;
  const memory = lease.part();
  const options = { settings, maxSamples, signal, memory, turns: own };
  const result = await evaluateFragment(fragment, seen, steps, options).finally(() => source.close());
  const rows = result.columns.length + result.groups.length;
  if (rows > request.maxSeries)
    return refuse('over_limit', `${rows} rows, at most ${request.maxSeries} were asked for`);
  const { oldestMs = null, newestMs = null } = store.stats();
  const header: PartialHeader = {
    planHash: request.planHash,
    node,
    labelsOwned: [nodeLabel],
    minT: oldestMs,
    maxT: newestMs,
    partitionClean: source.partitionClean,
    engineVersion,
  };
  const stats = { waitMs, evaluateMs: clock.monotonic() - entered };
  const maxBytes = Math.min(request.maxBytes, limits.maxBytes);
  const framed = await collectFrames(encodePartial(header, result, stats), maxBytes, signal, lease.part());
  // From here on only the frames are needed, so the memory of the evaluation is given back.
  memory.close();
  return framed;
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof QueryError)) return 'internal';
  // This depends on the node's label values: on another path, which asks all nodes again, it would be no other.
  if (error.code === 'ERR_SELECTION_LIMIT') return 'busy';
  if (error.code === 'ERR_QUERY_LIMIT') return 'over_limit';
  switch (error.errorType) {
    case 'bad_data':
      // A plan's text always parses on the server that made it: if it does not parse here, the two versions differ.
      return 'unsupported';
    case 'execution':
    case 'timeout':
      return error.errorType;
    default:
      return 'internal';
  }
}
