import { fromSpans, QueryError } from '../../promql/index.ts';
import type { FloatHistogram, Series } from '../../promql/index.ts';
import { decodeHistogramChunk, decodeXorChunk, kindOf, labelsKey, labelValue, SampleBuffer } from '../../tsdb/index.ts';
import type { Chunk, ChunkedSeries, Labels } from '../../tsdb/index.ts';
import { AgentFailure } from './failure.ts';

/** The label that says on which node a series was captured; agents add it where it is absent. */
export const nodeLabel = 'k8s_node_name';

export type ReadSeries = Series;

/** Samples that a query may still load; shared by all its agents. */
export interface SampleBudget {
  left: number;
}

/** The bits of Prometheus' stale marker. */
const staleHigh = 0x7ff00000;
const staleLow = 2;
/** A histogram weighs as a sample, and as another for so many of its buckets. */
const bucketsPerSample = 2;

interface Collected {
  readonly labels: Labels;
  readonly samples: SampleBuffer;
  /** By sample; shorter than `samples` where the rest are floats. Undefined while there was none. */
  histograms: (FloatHistogram | null)[] | undefined;
}

/**
 * Checks and decodes one agent's streamed answer.
 * Guarantees: every series carries the agent's own node name (unless the agent says that not all do), times ascend strictly, chunks hold what they state.
 * Errors: AgentFailure `protocol`; QueryError `execution` when the budget is spent (`overBudget` tells it apart).
 */
export class SeriesCollector {
  readonly #node: string;
  readonly #results: Map<string, Collected>[];
  readonly #budget: SampleBudget;
  overBudget = false;
  /** The agent has said that it holds series of other nodes' names. */
  foreignAllowed = false;

  constructor(node: string, queries: number, budget: SampleBudget) {
    this.#node = node;
    this.#results = Array.from({ length: queries }, () => new Map());
    this.#budget = budget;
  }

  add({ labels, chunks, queryIndex }: ChunkedSeries): void {
    const result = this.#results[queryIndex];
    if (!result) throw new AgentFailure('protocol', `answer to query ${queryIndex}, which was not asked`);
    const node = labelValue(labels, nodeLabel);
    if (node !== this.#node && !this.foreignAllowed) {
      throw new AgentFailure(
        'protocol',
        `series with ${nodeLabel}=${JSON.stringify(node)} from the agent of ${this.#node}`,
      );
    }
    const key = labelsKey(labels);
    let series = result.get(key);
    if (!series) {
      const expected = chunks.reduce((n, c) => n + c.count, 0);
      const samples = new SampleBuffer(Math.min(expected, 100_000));
      result.set(key, (series = { labels, samples, histograms: undefined }));
    }
    for (const chunk of chunks) this.#addChunk(series, chunk);
  }

  /** Each query's series. */
  finish(): ReadSeries[][] {
    return this.#results.map((result) =>
      [...result.values()].map(({ labels, samples, histograms }) => {
        const series = { labels, ...samples.slice() };
        if (!histograms) return series;
        while (histograms.length < samples.length) histograms.push(null);
        return { ...series, histograms };
      }),
    );
  }

  #addChunk(series: Collected, chunk: Chunk): void {
    const { samples } = series;
    const from = samples.length;
    if (chunk.encoding === 1) this.#spend(decodeXorChunk(chunk.bytes, samples));
    else this.#addHistograms(series, chunk);
    const times = samples.times;
    for (let i = Math.max(1, from); i < samples.length; i++) {
      if (times[i]! <= times[i - 1]!) throw new AgentFailure('protocol', 'samples of a series are not in time order');
    }
  }

  #addHistograms(series: Collected, chunk: Chunk): void {
    const histograms = (series.histograms ??= []);
    for (const { t, histogram } of decodeHistogramChunk(kindOf(chunk.encoding), chunk.bytes).points) {
      while (histograms.length < series.samples.length) histograms.push(null);
      histograms.push(histogram && fromSpans(histogram));
      series.samples.pushBits(t, histogram ? 0 : staleHigh, histogram ? 0 : staleLow);
      const buckets = histogram ? histogram.positive.length + histogram.negative.length : 0;
      this.#spend(1 + Math.floor(buckets / bucketsPerSample));
    }
  }

  #spend(samples: number): void {
    this.#budget.left -= samples;
    if (this.#budget.left >= 0) return;
    this.overBudget = true;
    throw new QueryError('execution', 'query processing would load too many samples into memory in query execution');
  }
}
