import type { QueryStats, SampleCounts } from '../../promql/index.ts';
import { queryTimings } from '../timings.ts';
import type { QuerySeconds } from '../timings.ts';

/** The parts of `stats` that `QueryStats` does not have. */
export interface StatsContext {
  readonly seconds: QuerySeconds;
  /** How many samples each step uses, from the step at `start` on. */
  readonly samples: SampleCounts;
  readonly start: number;
  readonly step: number;
}

/** The `stats` of an answer in Prometheus' form, with counts for each step if `perStep` is true; timings in seconds. */
export function statsJson(
  stats: QueryStats,
  { seconds, samples, start, step }: StatsContext,
  perStep: boolean,
): object {
  const { queryable, read } = samples;
  const steps = (counts: Float64Array): [number, number][] =>
    Array.from(counts, (count, i) => [(start + i * step) / 1000, count]);
  return {
    timings: queryTimings(seconds, stats),
    samples: {
      ...(perStep ? { totalQueryableSamplesPerStep: steps(queryable) } : {}),
      totalQueryableSamples: totalCount(queryable),
      ...(perStep ? { samplesReadPerStep: steps(read) } : {}),
      samplesRead: totalCount(read),
      peakSamples: stats.peakSamples,
    },
  };
}

/** The number of samples that all steps use together. */
export const totalCount = (counts: Float64Array): number => counts.reduce((a, b) => a + b, 0);
