import {
  compareLabels,
  compileMatcher,
  labelValue,
  matchesAll,
  type DeferredSeries,
  type Labels,
  type Samples,
  type SelectRequest,
  type SelectResult,
  type SeriesSource,
} from '../../src/promql/index.ts';
import { SampleBuffer, decodeXorChunk, type Chunk } from '../../src/tsdb/index.ts';
import { encodeChunks } from '../../src/tsdb/chunk/index.ts';
import { interval, start, type BenchSeries } from './data.ts';

interface Stored {
  readonly labels: Labels;
  readonly chunks: readonly Chunk[];
}

/**
 * Series as XOR chunks of 120 samples in memory and in label order, as the index of a store has them; decoded anew for
 * each query.
 */
export class ChunkSource implements SeriesSource {
  readonly #buffer = new SampleBuffer(1_024);
  readonly #byName = new Map<string, Stored[]>();

  constructor(all: readonly BenchSeries[]) {
    for (const { labels, values } of all) {
      const buffer = new SampleBuffer(values.length);
      const words = new Uint32Array(values.buffer);
      values.forEach((_, i) => buffer.pushBits(start + i * interval, words[2 * i + 1]!, words[2 * i]!));
      const chunks = encodeChunks(buffer);
      const name = labelValue(labels, '__name__');
      const known = this.#byName.get(name) ?? [];
      known.push({ labels, chunks });
      this.#byName.set(name, known);
    }
    for (const known of this.#byName.values()) known.sort((a, b) => compareLabels(a.labels, b.labels));
  }

  select({ matchers, mint, maxt }: SelectRequest): Promise<SelectResult> {
    const name = matchers.find((m) => m.name === '__name__' && m.type === '=')?.value ?? '';
    const others = matchers.filter((m) => m.name !== '__name__').map(compileMatcher);
    const series: DeferredSeries[] = [];
    for (const { labels, chunks } of this.#byName.get(name) ?? []) {
      if (!matchesAll(others, labels)) continue;
      const wanted = chunks.filter(({ minT, maxT }) => maxT >= mint && minT <= maxt);
      series.push({ labels, read: () => this.#decode(wanted) });
    }
    return Promise.resolve({ series });
  }

  #decode(chunks: readonly Chunk[]): Samples {
    const buffer = this.#buffer;
    buffer.length = 0;
    for (const { bytes } of chunks) decodeXorChunk(bytes, buffer);
    const { times, values, length } = buffer;
    return { timestamps: times.subarray(0, length), values: values.subarray(0, length) };
  }
}
