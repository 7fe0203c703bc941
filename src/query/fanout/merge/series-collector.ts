import { nodeLabel } from '../../../api/labels.ts';
import type { Memory } from '../../../base/memory-pool.ts';
import type { Pacing } from '../../../base/turns/turns.ts';
import { fromSpans, takeMemory, tooManySamples } from '../../../promql/index.ts';
import type { DeferredSeries, FloatHistogram, Series } from '../../../promql/index.ts';
import {
  compareLabels,
  decodeHistogramChunk,
  decodeXorChunk,
  kindOf,
  labelsKey,
  labelValue,
  SampleBuffer,
} from '../../../tsdb/index.ts';
import type { Chunk, ChunkedSeries, Labels } from '../../../tsdb/index.ts';
import { AgentFailure } from '../failure.ts';
import { HeldChunks } from '../readers/held-chunks.ts';
import type { HeldSeries } from '../readers/held-chunks.ts';

/** A series with all its samples. */
export type ReadSeries = Series;

/** A series as it was collected: in chunks when all samples are floats, decoded when it has native histograms. */
export type CollectedSeries = HeldSeries | ReadSeries;

/**
 * The series with its own copy of the samples: a series that is decoded on demand returns reused buffers. The bits of
 * the values are kept.
 */
export function wholeSeries(series: Series | DeferredSeries): ReadSeries {
  if (!('read' in series)) return series;
  const samples = series.read();
  return { labels: series.labels, ...samples, timestamps: samples.timestamps.slice(), values: samples.values.slice() };
}

/**
 * The series with their own copies of the samples. Takes memory for what is copied, and gives back that of the chunks.
 * Errors: QueryError when the process has no more memory.
 */
export async function decodeAll(
  all: readonly CollectedSeries[],
  memory: Memory | undefined,
  pacing: Pacing,
): Promise<ReadSeries[]> {
  const decoded: ReadSeries[] = [];
  for (const one of all) {
    const series = wholeSeries(one);
    if (series !== one) takeMemory(memory, sampleBytes * series.timestamps.length);
    decoded.push(series);
    if (pacing.spend(seriesWork + 2 * series.timestamps.length)) await pacing.turn();
  }
  // Chunks of several series share a buffer, so that none is free before all are decoded.
  memory?.give(heldBytesOf(all));
  return decoded;
}

/** Bytes that a series keeps: its chunks, or its samples. */
export function bytesOfSeries(series: CollectedSeries): number {
  return 'read' in series ? series.heldBytes : sampleBytes * series.timestamps.length;
}

/** Bytes that the series keep, in chunks and decoded. */
export function bytesOfAll(all: readonly CollectedSeries[]): number {
  return all.reduce((sum, one) => sum + bytesOfSeries(one), 0);
}

/** Bytes that the series keep in chunks. */
export function heldBytesOf(all: readonly CollectedSeries[]): number {
  return all.reduce((sum, one) => sum + ('read' in one ? one.heldBytes : 0), 0);
}

/** The samples that a query may still load, and the source of their memory; shared by all agents of the query. */
export interface SampleBudget {
  left: number;
  /** Default: nothing is counted. */
  readonly memory?: Memory | undefined;
}

/** Counts samples that are loaded. Errors: the error of `spent` when the budget is used up. */
export function takeSamples(budget: SampleBudget, samples: number, spent: () => Error = tooManySamples): void {
  budget.left -= samples;
  if (budget.left < 0) throw spent();
}

/** Size of a time and a value. Bytes. */
export const sampleBytes = 16;
/** Size of a series while it is collected: its objects and a slot for each label; the texts are shared. Bytes. */
const [seriesBytes, labelBytes] = [200, 16];
/** Size of a name and a value that no series before had, without their characters. Bytes. */
const pairBytes = 128;

/** Decoding one series costs as much as 50 samples, and each of its samples as much as two. */
const seriesWork = 50;

/** The bits of Prometheus' stale marker. */
const staleHigh = 0x7ff00000;
const staleLow = 2;
/** A histogram counts as one sample, plus one for each group of this many buckets. */
const bucketsPerSample = 2;

/** One series whose frames are being received. */
interface Collected {
  readonly labels: Labels;
  /** Chunks of floats, as long as the series has no histogram. */
  chunks: Uint8Array[];
  lastTime: number;
  /** All samples, once the series has a histogram. */
  mixed: { readonly samples: SampleBuffer; readonly histograms: (FloatHistogram | null)[] } | undefined;
}

/** The series of one query, mostly in label order as the protocol requires. */
interface Result {
  readonly series: Collected[];
  /** Filled only when a series came out of order. */
  byKey: Map<string, Collected> | undefined;
}

/**
 * Validates one agent's streamed answer, and keeps its chunks.
 * Guarantees: every series carries the agent's own node name (unless the agent states that not all do), times ascend
 * strictly, and every chunk has been decoded once, so that decoding it again cannot fail.
 * Errors: AgentFailure `protocol`; QueryError `execution` when the budget is spent or the process has no more memory.
 */
export class SeriesCollector {
  readonly #node: string;
  readonly #results: Result[];
  readonly #budget: SampleBudget;
  readonly #held = new HeldChunks();
  readonly #scratch = new SampleBuffer();
  /** Labels that many series share are kept once. */
  readonly #pairs = new Map<string, Map<string, Labels[number]>>();
  /** The agent has stated that it holds series with other nodes' names. */
  foreignAllowed = false;

  constructor(node: string, queries: number, budget: SampleBudget) {
    this.#node = node;
    this.#results = Array.from({ length: queries }, () => ({ series: [], byKey: undefined }));
    this.#budget = budget;
  }

  add({ labels: own, chunks, queryIndex }: ChunkedSeries): void {
    const result = this.#results[queryIndex];
    if (!result) throw new AgentFailure('protocol', `answer to query ${queryIndex}, which was not asked`);
    const node = labelValue(own, nodeLabel);
    if (node !== this.#node && !this.foreignAllowed) {
      throw new AgentFailure(
        'protocol',
        `series with ${nodeLabel}=${JSON.stringify(node)} from the agent of ${this.#node}`,
      );
    }
    takeMemory(this.#budget.memory, seriesBytes + labelBytes * own.length);
    const series = seriesOf(result, this.#shared(own));
    for (const chunk of chunks) {
      if (chunk.encoding === 1 && series.mixed === undefined) this.#keep(series, chunk);
      else this.#decode(series, chunk);
    }
  }

  /** Each query's series. */
  finish(): CollectedSeries[][] {
    return this.#results.map(({ series: all }) =>
      all.map(({ labels, chunks, mixed }) => {
        if (mixed === undefined) return this.#held.series(labels, chunks);
        const { samples, histograms } = mixed;
        while (histograms.length < samples.length) histograms.push(null);
        return { labels, ...samples.slice(), histograms };
      }),
    );
  }

  #shared(labels: Labels): Labels {
    return labels.map((label) => {
      const [name, value] = label;
      let values = this.#pairs.get(name);
      const known = values?.get(value);
      if (known !== undefined) return known;
      takeMemory(this.#budget.memory, pairBytes + name.length + value.length);
      if (values === undefined) this.#pairs.set(name, (values = new Map()));
      values.set(value, label);
      return label;
    });
  }

  #keep(series: Collected, { bytes }: Chunk): void {
    const scratch = this.#scratch;
    scratch.length = 0;
    this.#spend(decodeXorChunk(bytes, scratch), 0);
    series.lastTime = ascending(scratch, 0, series.lastTime);
    takeMemory(this.#budget.memory, bytes.length);
    series.chunks.push(this.#held.keep(bytes));
  }

  #decode(series: Collected, chunk: Chunk): void {
    if (series.mixed === undefined) {
      series.mixed = { samples: new SampleBuffer(), histograms: [] };
      for (const bytes of series.chunks) {
        takeMemory(this.#budget.memory, decodeXorChunk(bytes, series.mixed.samples) * sampleBytes - bytes.length);
      }
      series.chunks = [];
    }
    const { samples, histograms } = series.mixed;
    const from = samples.length;
    if (chunk.encoding === 1) this.#spend(decodeXorChunk(chunk.bytes, samples));
    else this.#addHistograms(samples, histograms, chunk);
    series.lastTime = ascending(samples, from, series.lastTime);
  }

  #addHistograms(samples: SampleBuffer, histograms: (FloatHistogram | null)[], chunk: Chunk): void {
    for (const { t, histogram } of decodeHistogramChunk(kindOf(chunk.encoding), chunk.bytes).points) {
      while (histograms.length < samples.length) histograms.push(null);
      histograms.push(histogram && fromSpans(histogram));
      samples.pushBits(t, histogram ? 0 : staleHigh, histogram ? 0 : staleLow);
      const buckets = histogram ? histogram.positive.length + histogram.negative.length : 0;
      this.#spend(1 + Math.floor(buckets / bucketsPerSample));
    }
  }

  /** Counts samples, and takes memory for those that are kept decoded. */
  #spend(samples: number, bytes = samples * sampleBytes): void {
    takeMemory(this.#budget.memory, bytes);
    takeSamples(this.#budget, samples);
  }
}

/** The series with these labels: a large series arrives in several frames. */
function seriesOf(result: Result, labels: Labels): Collected {
  const last = result.series.at(-1);
  const order = last === undefined ? -1 : compareLabels(last.labels, labels);
  if (order === 0) return last!;
  if (order > 0) result.byKey ??= new Map(result.series.map((one) => [labelsKey(one.labels), one]));
  const known = result.byKey?.get(labelsKey(labels));
  if (known !== undefined) return known;
  const series = { labels, chunks: [], lastTime: -Infinity, mixed: undefined };
  result.series.push(series);
  result.byKey?.set(labelsKey(labels), series);
  return series;
}

/** The time of the last sample from `from` on. Errors: AgentFailure when the times do not ascend from `before`. */
function ascending({ times, length }: SampleBuffer, from: number, before: number): number {
  let last = before;
  for (let i = from; i < length; i++) {
    const time = times[i]!;
    if (time <= last) throw new AgentFailure('protocol', 'samples of a series are not in time order');
    last = time;
  }
  return last;
}
