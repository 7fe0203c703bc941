import type { Clock } from '../../src/base/clock.ts';
import { labelsFromObject } from '../../src/tsdb/index.ts';
import type { Labels } from '../../src/tsdb/index.ts';

/** The data of bench:tsdb. `valueOf` and `agentValue` follow the rules of peer/main.go and peer/ingest/main.go. */
export const stepMs = 30_000;
export const benchStart = 1_795_219_200_000;
/** The store is maintained (blocks, merges, checkpoints) after so many scrapes, as often as in a running agent. */
export const maintainEvery = 120;

/** A series' value at step k, in a mix of series: idle and busy integer counters, byte counters, float sums, gauges. */
export function valueOf(series: number, k: number): number {
  const noise = ((Math.imul(series, 2_654_435_761) + Math.imul(k, 40_503)) >>> 0) % 1000;
  switch (series % 5) {
    case 0:
      return 17;
    case 1:
      return k * 3 + (noise % 7);
    case 2:
      return k * 150_000 + noise * 811;
    case 3:
      return (k * 1000 + noise) / 997;
    default:
      return 200 + noise / 8;
  }
}

/**
 * The value of an agent's series. Of ten series, one is constant, two rarely change, five are integer counters of
 * different speeds, as the buckets of histograms are, one is a byte counter and one a float sum. Source: the
 * composition of the product's own metrics.
 */
export function agentValue(series: number, k: number): number {
  const kind = series % 10;
  if (kind < 3) return 17 + (kind === 0 ? 0 : Math.floor(k / 40));
  if (kind < 8) return Math.floor((k * (1 + (series % 97))) / 7);
  return valueOf(kind === 8 ? 2 : 3, k);
}

export function makeSeries(count: number): Labels[] {
  return Array.from({ length: count }, (_, i) =>
    labelsFromObject({
      __name__: `metric_${i % 20}`,
      k8s_namespace_name: `ns-${i % 7}`,
      k8s_node_name: 'node-1',
      k8s_pod_name: `pod-${i % 200}`,
      service_name: `service-${i % 50}`,
      le: String(i % 11),
      instance: String(i),
    }),
  );
}

/** A clock that stands still: the store moves or removes nothing while something is timed. */
export function standingClock(ms: number): Clock {
  return { now: () => ms, monotonic: () => performance.now(), setTimeout: () => () => {} };
}
