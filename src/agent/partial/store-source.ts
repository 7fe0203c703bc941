import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromSpans, QueryError } from '../../promql/index.ts';
import type { FloatHistogram, SelectRequest, SelectResult, Series, SeriesSource } from '../../promql/index.ts';
import { decodeHistogramChunk, decodeXorChunk, kindOf, SampleBuffer } from '../../tsdb/index.ts';
import type { Chunk, Labels, Store } from '../../tsdb/index.ts';

/** Other work gets a turn after about this many samples. */
const samplesPerTurn = 200_000;
/** High and low word of the stale marker. */
const staleHigh = 0x7ff00000;
const staleLow = 2;

export interface StoreSourceOptions {
  readonly store: Pick<Store, 'select'>;
  /** The label that names a series' node, and the value that is this node's. */
  readonly partition: { readonly label: string; readonly value: string };
  /** Most samples that one source hands out in its life. */
  readonly maxSamples: number;
}

/** The node's own store behind the engine's interface, for one evaluation. */
export class StoreSource implements SeriesSource {
  readonly #options: StoreSourceOptions;
  #left: number;
  /** False once a series was asked for that carries another node's name. */
  partitionClean = true;

  constructor(options: StoreSourceOptions) {
    this.#options = options;
    this.#left = options.maxSamples;
  }

  /** Errors: QueryError `execution` (ERR_QUERY_LIMIT) above the sample limit; what the store throws. */
  async select({ matchers, mint, maxt, signal }: SelectRequest): Promise<SelectResult> {
    const { store, partition } = this.#options;
    const [from, to] = [Math.floor(mint), Math.ceil(maxt)];
    const foreign = { type: '!=', name: partition.label, value: partition.value } as const;
    for (const _ of store.select([...matchers, foreign], from, to)) {
      this.partitionClean = false;
      break;
    }
    const series: Series[] = [];
    let work = 0;
    for (const { labels, chunks } of store.select(matchers, from, to)) {
      const one = readSeries(labels, chunks());
      work += one.timestamps.length + 20;
      this.#spend(one.timestamps.length);
      series.push(one);
      if (work < samplesPerTurn) continue;
      work = 0;
      await nextTurn();
      signal?.throwIfAborted();
    }
    return { series };
  }

  #spend(samples: number): void {
    this.#left -= samples;
    if (this.#left >= 0) return;
    throw new QueryError('execution', `more than ${this.#options.maxSamples} samples on this node`, {
      code: 'ERR_QUERY_LIMIT',
    });
  }
}

function readSeries(labels: Labels, chunks: readonly Chunk[]): Series {
  const samples = new SampleBuffer(chunks.reduce((sum, { count }) => sum + count, 0));
  if (chunks.every(({ encoding }) => encoding === 1)) {
    for (const { bytes } of chunks) decodeXorChunk(bytes, samples);
    return { labels, ...columnsOf(samples) };
  }
  const histograms: (FloatHistogram | null)[] = [];
  for (const { encoding, bytes } of chunks) {
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
  return { labels, ...columnsOf(samples), histograms };
}

/** The columns where they lie: the buffer is the series' own. */
function columnsOf({ times, values, length }: SampleBuffer): { timestamps: Float64Array; values: Float64Array } {
  return { timestamps: times.subarray(0, length), values: values.subarray(0, length) };
}
