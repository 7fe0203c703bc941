import {
  compareLabels,
  compileMatcher,
  labelValue,
  matchesAll,
  type DeferredSeries,
  type Label,
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
 * Series as XOR chunks of 120 samples in memory, in label order and each label once, as the index of a store has them;
 * decoded anew for each query.
 */
export class ChunkSource implements SeriesSource {
  readonly #byName = new Map<string, Stored[]>();

  constructor(all: readonly BenchSeries[]) {
    const interned = new Map<string, Label>();
    const intern = ([name, value]: Label): Label => {
      const key = `${name}\n${value}`;
      if (!interned.has(key)) interned.set(key, [name, value]);
      return interned.get(key)!;
    };
    for (const { labels, values } of all) {
      const buffer = new SampleBuffer(values.length);
      const words = new Uint32Array(values.buffer);
      values.forEach((_, i) => buffer.pushBits(start + i * interval, words[2 * i + 1]!, words[2 * i]!));
      const chunks = encodeChunks(buffer);
      const name = labelValue(labels, '__name__');
      const known = this.#byName.get(name) ?? [];
      known.push({ labels: labels.map(intern), chunks });
      this.#byName.set(name, known);
    }
    for (const known of this.#byName.values()) known.sort((a, b) => compareLabels(a.labels, b.labels));
  }

  select({ matchers, mint, maxt }: SelectRequest): Promise<SelectResult> {
    const name = matchers.find((m) => m.name === '__name__' && m.type === '=')?.value ?? '';
    const others = matchers.filter((m) => m.name !== '__name__').map(compileMatcher);
    const decoder = new Decoder(mint, maxt);
    const series: DeferredSeries[] = [];
    for (const { labels, chunks } of this.#byName.get(name) ?? []) {
      if (others.length > 0 && !matchesAll(others, labels)) continue;
      series.push({ labels, read: () => decoder.read(chunks) });
    }
    return Promise.resolve({ series, sorted: true });
  }
}

/** Decodes the chunks of a span, series after series into the same buffer. */
class Decoder {
  readonly #mint: number;
  readonly #maxt: number;
  readonly #buffer = new SampleBuffer(1_024);

  constructor(mint: number, maxt: number) {
    this.#mint = mint;
    this.#maxt = maxt;
  }

  read(chunks: readonly Chunk[]): Samples {
    const buffer = this.#buffer;
    buffer.length = 0;
    for (const { minT, maxT, bytes } of chunks) {
      if (maxT >= this.#mint && minT <= this.#maxt) decodeXorChunk(bytes, buffer);
    }
    return buffer.view();
  }
}
