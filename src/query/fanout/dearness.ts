import type { FragmentDemands, Steps } from '../../promql/index.ts';

/** Used to guess what raw chunks would weigh: the agents' usual distance of samples, and bytes a sample and series. */
const guess = { intervalMs: 30_000, bytesPerSample: 2.5, bytesPerSeries: 40 } as const;

/** Why a series fragment is not worth its bytes: null when it is. */
export function dearness({ requests }: FragmentDemands, steps: Steps): string | null {
  const pushed = 8 * steps.count + guess.bytesPerSeries;
  let raw = 0;
  for (const { mint, maxt } of requests) {
    raw += ((maxt - mint) / guess.intervalMs) * guess.bytesPerSample + guess.bytesPerSeries;
  }
  return pushed <= raw ? null : `read raw: about ${Math.round(raw)} bytes a series against ${pushed} for its steps`;
}
