import { matchesAll, compileMatcher } from '../matching/matcher.ts';
import { sortedLabels } from '../labels.ts';
import type { DeferredSeries, Label, SelectRequest, SelectResult, SeriesSource } from '../types.ts';

/** The label with the node of a series. */
export const nodeLabel = 'node';
/** End of the synthetic samples, and their interval. Milliseconds. */
export const lastSample = 3_600_000;
const interval = 30_000;
const samples = 40;
const bounds = ['0.1', '1', '+Inf'];

/** Series in memory that look like captured ones: an `up` metric on each instance, request counters and durations. */
export class MadeUpSeries implements SeriesSource {
  readonly #series: DeferredSeries[] = [];

  constructor() {
    const timestamps = Float64Array.from({ length: samples }, (_, i) => lastSample - (samples - 1 - i) * interval);
    for (let instance = 0; instance < 8; instance++) {
      const add = (name: string, perSample: number, ...more: Label[]): void => {
        const labels = sortedLabels([
          ['__name__', name],
          ['app', `app-${instance % 3}`],
          ['instance', `instance-${instance}`],
          [nodeLabel, 'node'],
          ...more,
        ]);
        const values = timestamps.map((_, i) => 1 + i * perSample * (1 + instance / 7));
        this.#series.push({ labels, read: () => ({ timestamps, values }) });
      };
      add('up', 0);
      for (const code of ['200', '500']) add('requests_total', 3, ['code', code]);
      for (const [i, le] of bounds.entries()) add('seconds_bucket', 1 + i, ['le', le]);
    }
  }

  select({ matchers }: SelectRequest): Promise<SelectResult> {
    const compiled = matchers.map(compileMatcher);
    return Promise.resolve({ series: this.#series.filter(({ labels }) => matchesAll(compiled, labels)) });
  }
}
