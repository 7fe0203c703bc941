import {
  compileMatcher,
  labelValue,
  matchesAll,
  type Labels,
  type SelectRequest,
  type SelectResult,
  type Series,
  type SeriesSource,
} from '../../src/promql/index.ts';
import { SampleBuffer, decodeXorChunk, type Chunk } from '../../src/tsdb/index.ts';
import { encodeChunks } from '../../src/tsdb/chunk/index.ts';
import { interval, start, type BenchSeries } from './data.ts';

interface Stored {
  readonly labels: Labels;
  readonly chunks: readonly Chunk[];
}

/** Series as XOR chunks of 120 samples in memory, decoded anew for each query: what a store hands out. */
export class ChunkSource implements SeriesSource {
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
  }

  select({ matchers, mint, maxt }: SelectRequest): Promise<SelectResult> {
    const name = matchers.find((m) => m.name === '__name__' && m.type === '=')?.value ?? '';
    const others = matchers.filter((m) => m.name !== '__name__').map(compileMatcher);
    const series: Series[] = [];
    for (const { labels, chunks } of this.#byName.get(name) ?? []) {
      if (!matchesAll(others, labels)) continue;
      const wanted = chunks.filter(({ minT, maxT }) => maxT >= mint && minT <= maxt);
      const buffer = new SampleBuffer(wanted.reduce((sum, chunk) => sum + chunk.count, 0));
      for (const { bytes } of wanted) decodeXorChunk(bytes, buffer);
      series.push({ labels, timestamps: buffer.times, values: buffer.values });
    }
    return Promise.resolve({ series });
  }
}
