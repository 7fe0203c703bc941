import {
  compileMatcher,
  labelValue,
  matchesAll,
  type DeferredSeries,
  type Samples,
  type SelectRequest,
  type SelectResult,
  type SeriesSource,
} from '../../src/promql/index.ts';
import { SampleBuffer, decodeXorChunk } from '../../src/tsdb/index.ts';
import type { ChunkFile } from './chunk-file.ts';

type Stored = ChunkFile['series'][number];

/** The series of a chunk file, found by the metric's name. Each query decodes the chunks again. */
export class ChunkSource implements SeriesSource {
  readonly #file: ChunkFile;
  readonly #byName = new Map<string, Stored[]>();
  /** Shared by all queries: the engine is done with the samples in it before it reads another series. */
  readonly #buffer = new SampleBuffer();

  constructor(file: ChunkFile) {
    this.#file = file;
    for (const one of file.series) {
      const name = labelValue(one.labels, '__name__');
      const known = this.#byName.get(name);
      if (known === undefined) this.#byName.set(name, [one]);
      else known.push(one);
    }
  }

  select({ matchers, mint, maxt }: SelectRequest): Promise<SelectResult> {
    const name = matchers.find((m) => m.name === '__name__' && m.type === '=')?.value ?? '';
    const others = matchers.filter((m) => m.name !== '__name__').map(compileMatcher);
    const decoder = new Decoder(this.#file, this.#buffer, mint, maxt);
    const series: DeferredSeries[] = [];
    for (const one of this.#byName.get(name) ?? []) {
      if (others.length > 0 && !matchesAll(others, one.labels)) continue;
      series.push({ labels: one.labels, read: () => decoder.read(one) });
    }
    return Promise.resolve({ series, sorted: true });
  }
}

/** Decodes the chunks of a time range, series after series into the same buffer. */
class Decoder {
  readonly #file: ChunkFile;
  readonly #mint: number;
  readonly #maxt: number;
  readonly #buffer: SampleBuffer;

  constructor(file: ChunkFile, buffer: SampleBuffer, mint: number, maxt: number) {
    this.#file = file;
    this.#buffer = buffer;
    this.#mint = mint;
    this.#maxt = maxt;
  }

  read({ firstChunk, chunks }: Stored): Samples {
    const { minT, maxT, offset, bytes } = this.#file;
    const buffer = this.#buffer;
    buffer.length = 0;
    for (let i = firstChunk; i < firstChunk + chunks; i++) {
      if (maxT[i]! < this.#mint || minT[i]! > this.#maxt) continue;
      decodeXorChunk(bytes.subarray(offset[i], offset[i + 1]), buffer, this.#mint);
    }
    return buffer.view();
  }
}
