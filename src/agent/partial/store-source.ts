import { isOperatorError } from '../../base/errors.ts';
import { Pace } from '../../base/turns/turns.ts';
import { fromSpans, QueryError } from '../../promql/index.ts';
import type {
  DeferredSeries,
  FloatHistogram,
  Samples,
  SelectRequest,
  SelectResult,
  Series,
  SeriesSource,
} from '../../promql/index.ts';
import { compileSets, decodeHistogramChunk, decodeXorChunk, kindOf, SampleBuffer } from '../../tsdb/index.ts';
import type { CompiledMatcher, HeldSeries, Labels, Selection, Store } from '../../tsdb/index.ts';

/** High and low word of the stale marker. */
const staleHigh = 0x7ff00000;
const staleLow = 2;

/** Memory of a matcher's cached answer, without its text. */
const answerBytes = 48;

export interface StoreSourceOptions {
  readonly store: Pick<Store, 'select' | 'hold' | 'prepare'>;
  /** The label that names a series' node, and its value on this node. */
  readonly partition: { readonly label: string; readonly value: string };
  /** Maximum number of samples that one source returns over its lifetime. */
  readonly maxSamples: number;
}

/**
 * The buffer into which series are decoded. It serves all evaluations: the engine finishes with one series before it
 * reads the next.
 */
const buffer = new SampleBuffer();

/** The node's own store as a source of the engine, for one evaluation. Close it when the evaluation has ended. */
export class StoreSource implements SeriesSource {
  readonly #options: StoreSourceOptions;
  readonly #held: Selection[] = [];
  /** The matchers of all selectors. Those of many selectors are mostly equal, and each caches an answer for each value. */
  readonly #compiled = new Map<string, CompiledMatcher>();
  /** How many of the cached answers were counted as memory. */
  #answers = 0;
  #left: number;
  #closed = false;
  /** False once a requested series carries another node's name. */
  partitionClean = true;

  constructor(options: StoreSourceOptions) {
    this.#options = options;
    this.#left = options.maxSamples;
  }

  /**
   * Errors: QueryError `execution`, with code ERR_QUERY_LIMIT above the sample limit, and ERR_SELECTION_LIMIT above a
   * limit of the store; others of the store.
   */
  async select(request: SelectRequest): Promise<SelectResult> {
    try {
      return await this.#select(request);
    } catch (error) {
      if (!isOperatorError(error, 'ERR_SELECTION_LIMIT')) throw error;
      throw new QueryError('execution', error.message, { code: error.code, cause: error });
    }
  }

  async #select({ matchers: asked, mint, maxt, signal }: SelectRequest): Promise<SelectResult> {
    this.#assertOpen();
    const { store, partition } = this.#options;
    const [from, to] = [Math.floor(mint), Math.ceil(maxt)];
    const foreign = { type: '!=', name: partition.label, value: partition.value } as const;
    const pace = new Pace(signal);
    const isRegex = asked.some(({ type }) => type === '=~' || type === '!~');
    const matchers = compileSets([asked], this.#compiled)[0]!;
    if (isRegex) await store.prepare(matchers, from, to, pace);
    this.#assertOpen();
    for (const _ of store.select([...matchers, foreign], from, to)) {
      this.partitionClean = false;
      break;
    }
    const series: (Series | DeferredSeries)[] = [];
    const selection = store.hold(matchers, from, to);
    this.#held.push(selection);
    for (const found of selection) {
      const samples = found.sampleCount;
      this.#spend(samples);
      series.push(found.isFloats ? new HeldFloats(found, from) : readMixed(found, samples));
      if (!pace.spend(samples / 8 + 20)) continue;
      await pace.turn();
      this.#assertOpen();
    }
    return { series, sorted: true, heldBytes: answerBytes * this.#newAnswers() };
  }

  /** Releases the store: selected series cannot be read any more. */
  close(): void {
    this.#closed = true;
    for (const selection of this.#held) selection.close();
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('the evaluation has ended');
  }

  #newAnswers(): number {
    const before = this.#answers;
    this.#answers = this.#compiled.values().reduce((sum, { answers }) => sum + (answers?.size ?? 0), 0);
    return this.#answers - before;
  }

  #spend(samples: number): void {
    this.#left -= samples;
    if (this.#left >= 0) return;
    throw new QueryError('execution', `more than ${this.#options.maxSamples} samples on this node`, {
      code: 'ERR_QUERY_LIMIT',
    });
  }
}

/** A series that is decoded from the store's memory when the engine reads it. */
class HeldFloats implements DeferredSeries {
  readonly labels: Labels;
  readonly #held: HeldSeries;
  readonly #from: number;

  constructor(held: HeldSeries, from: number) {
    this.labels = held.labels;
    this.#held = held;
    this.#from = from;
  }

  read(): Samples {
    buffer.length = 0;
    this.#held.decode(this.#from, buffer);
    return buffer.view();
  }
}

/** A series with native histograms among its samples. */
function readMixed(found: HeldSeries, count: number): Series {
  const samples = new SampleBuffer(count);
  const histograms: (FloatHistogram | null)[] = [];
  for (const { encoding, bytes } of found.chunks()) {
    if (encoding === 1) decodeXorChunk(bytes, samples);
    else {
      for (const { t, histogram } of decodeHistogramChunk(kindOf(encoding), bytes).points) {
        while (histograms.length < samples.length) histograms.push(null);
        histograms.push(histogram && fromSpans(histogram));
        samples.pushBits(t, histogram ? 0 : staleHigh, histogram ? 0 : staleLow);
      }
    }
  }
  while (histograms.length < samples.length) histograms.push(null);
  return { labels: found.labels, ...samples.view(), histograms };
}
