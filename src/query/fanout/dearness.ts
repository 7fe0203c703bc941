import type { FragmentDemands, Steps } from '../../promql/index.ts';

/**
 * Used to estimate the size of raw chunks: the agents' usual sample interval, and the bytes of a sample and of a
 * series.
 */
const guess = { intervalMs: 30_000, bytesPerSample: 2.5, bytesPerSeries: 40 } as const;

/**
 * How many bytes of steps (an agent's values at the query's steps) cost no more than one byte of raw chunks. The query
 * server copies steps and decodes chunks twice, once to check them and once to evaluate them, but chunks cost the agent
 * less. Measured with 300 series over six hours: at 1.6, 3.2 and 6.3 bytes of steps for each byte of chunks, steps took
 * 0.45, 0.9 and 1.0 times the CPU time of chunks on the query server, and 0.7, 1.3 and 1.4 times on the query server
 * and the agent together.
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
