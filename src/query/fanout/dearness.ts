import type { FragmentDemands, Steps } from '../../promql/index.ts';

/**
 * Used to estimate the size of raw chunks: the agents' usual sample interval, and the bytes of a sample and of a
 * series.
 */
const guess = { intervalMs: 30_000, bytesPerSample: 2.5, bytesPerSeries: 40 } as const;

/**
 * How many bytes of steps (an agent's values at the query's steps) cost no more than one byte of raw chunks. The query
 * server copies steps and decodes chunks twice, once to check them and once to evaluate them, but chunks cost the agent
 * less. Measured with 300 series over six hours, as the ratio of CPU time for steps to CPU time for chunks: for the
 * query server 0.45 at 1.6 times the bytes, 0.9 at 3.2, 1.0 at 6.3; for the query server and the agent together 0.7,
 * 1.3 and 1.4.
 */
const stepBytesPerChunkByte = 2;

/** Why the values of a series at the query's steps cost more than its raw chunks; null when they do not. */
export function dearness({ requests }: Pick<FragmentDemands, 'requests'>, steps: Steps): string | null {
  const pushed = 8 * steps.count + guess.bytesPerSeries;
  let raw = 0;
  for (const { mint, maxt } of requests) {
    raw += ((maxt - mint) / guess.intervalMs) * guess.bytesPerSample + guess.bytesPerSeries;
  }
  if (pushed <= stepBytesPerChunkByte * raw) return null;
  return `read raw: about ${Math.round(raw)} bytes a series against ${pushed} for its steps`;
}
