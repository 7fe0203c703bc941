import {
  compareLabels,
  compileMatcher,
  labelsKey,
  matchesAll,
  type FloatHistogram,
  type Labels,
  type SelectRequest,
  type SelectResult,
  type Series,
  type SeriesSource,
} from '../../promql/index.ts';

/** One sample to load: a float, a native histogram, or a stale marker. Times in milliseconds. */
export interface LoadedSample {
  readonly time: number;
  readonly value: number;
  readonly histogram?: FloatHistogram;
  readonly stale?: boolean;
  /** When the counter began; 0 or absent = unknown. */
  readonly startTime?: number;
}

interface Stored {
  readonly labels: Labels;
  readonly samples: Map<number, LoadedSample>;
  series: Series | null;
}

/** Low and high word of the stale marker's bit pattern 0x7ff0000000000002. */
const stale = [2, 0x7ff00000] as const;

/** A source of series in memory: tests load samples into it, and the engine selects series as from a store. */
export class MemorySource implements SeriesSource {
  readonly #stored = new Map<string, Stored>();

  /** Adds samples; a sample at a known time replaces the older one. */
  load(labels: Labels, samples: Iterable<LoadedSample>): void {
    const key = labelsKey(labels);
    let stored = this.#stored.get(key);
    if (stored === undefined) this.#stored.set(key, (stored = { labels, samples: new Map(), series: null }));
    for (const sample of samples) stored.samples.set(sample.time, sample);
    stored.series = null;
  }

  /** The number of series. */
  get size(): number {
    return this.#stored.size;
  }

  clear(): void {
    this.#stored.clear();
  }

  select(request: SelectRequest): Promise<SelectResult> {
    const matchers = request.matchers.map(compileMatcher);
    const found: Series[] = [];
    for (const stored of this.#stored.values()) {
      if (!matchesAll(matchers, stored.labels)) continue;
      stored.series ??= toSeries(stored);
      found.push(stored.series);
    }
    return Promise.resolve({ series: found.sort((a, b) => compareLabels(a.labels, b.labels)) });
  }
}

function toSeries({ labels, samples }: Stored): Series {
  const sorted = [...samples.values()].sort((a, b) => a.time - b.time);
  const timestamps = Float64Array.from(sorted, (sample) => sample.time);
  const values = new Float64Array(sorted.length);
  const words = new Uint32Array(values.buffer);
  sorted.forEach((sample, i) => {
    if (sample.stale === true) words.set(stale, 2 * i);
    else values[i] = sample.value;
  });
  return {
    labels,
    timestamps,
    values,
    ...(sorted.some((sample) => sample.histogram !== undefined)
      ? { histograms: sorted.map((sample) => sample.histogram ?? null) }
      : {}),
    ...(sorted.some((sample) => (sample.startTime ?? 0) !== 0)
      ? { startTimestamps: Float64Array.from(sorted, (sample) => sample.startTime ?? 0) }
      : {}),
  };
}
