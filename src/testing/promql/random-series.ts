import { sortedLabels, type FloatHistogram, type Labels } from '../../promql/index.ts';
import type { LoadedSample } from './memory-source.ts';
import type { Random } from './random.ts';

/** One generated series. */
export interface RandomSeries {
  readonly labels: Labels;
  readonly samples: readonly LoadedSample[];
}

/** The shape of generated series. Units of times: ms. */
export interface SeriesShape {
  readonly start: number;
  readonly interval: number;
  readonly samples: number;
  readonly nodes: number;
  /** Whether there are native histograms, too. */
  readonly histograms: boolean;
}

/** The label that names a series' node. */
export const nodeLabel = 'node';

/** The metric names that random expressions select, by their type. */
export const metrics = {
  gauges: ['temperature', 'queue_length', 'odd_values'],
  counters: ['requests_total', 'errors_total'],
  buckets: ['latency_bucket'],
  histograms: ['native_seconds'],
  mixed: ['mixed_kind'],
  infos: ['target_info', 'build_info'],
} as const;

const bounds = ['0.1', '0.5', '1', '5', '+Inf'];

/** Random gauges, counters with resets, classic buckets and native histograms, with gaps, NaN and infinities. */
export function randomSeries(random: Random, shape: SeriesShape): RandomSeries[] {
  const found: RandomSeries[] = [];
  const add = (name: string, labels: Record<string, string>, samples: LoadedSample[]): void => {
    if (samples.length > 0) {
      found.push({ labels: sortedLabels(Object.entries({ __name__: name, ...labels })), samples });
    }
  };
  const targets: Record<string, string>[] = [];
  for (let node = 0; node < shape.nodes; node++) {
    for (const job of ['api', 'db']) {
      const instances = 1 + random.below(3);
      for (let i = 0; i < instances; i++) {
        const labels = { [nodeLabel]: `n${node}`, job, instance: `i${i}`, ...zone(random) };
        targets.push({ [nodeLabel]: `n${node}`, job, instance: `i${i}` });
        for (const name of metrics.gauges) {
          if (random.chance(0.85)) add(name, labels, gauge(random, shape, name === 'odd_values'));
        }
        for (const name of metrics.counters) {
          for (const code of random.some(['200', '404', '500'], 0.7)) {
            add(name, { ...labels, code }, counter(random, shape, 1 + random.below(50)));
          }
        }
        if (random.chance(0.7)) addBuckets(random, shape, labels, add);
        if (!shape.histograms) continue;
        if (random.chance(0.7)) add('native_seconds', labels, histograms(random, shape));
        if (random.chance(0.5)) add('mixed_kind', labels, mixed(random, shape));
      }
    }
  }
  addInfos(random, shape, targets, add);
  return found;
}

/** Adds the info metrics of targets. For most targets only one node has them. Some targets change version midway. */
function addInfos(random: Random, shape: SeriesShape, targets: readonly Record<string, string>[], add: Add): void {
  const told = new Set<string>();
  for (const target of targets) {
    const key = `${target['job']} ${target['instance']}`;
    if (told.has(key) && random.chance(0.9)) continue;
    told.add(key);
    for (const name of metrics.infos) {
      if (random.chance(0.25)) continue;
      const all = times(random, shape).map((time) => ({ time, value: 1 }));
      const change = random.chance(0.3) ? random.below(all.length) : all.length;
      const cluster = random.chance(0.5) ? { cluster: random.pick(['west', 'east']) } : {};
      add(name, { ...target, ...cluster, version: '1.0' }, all.slice(0, change));
      add(name, { ...target, ...cluster, version: '2.0' }, all.slice(change));
    }
  }
}

type Add = (name: string, labels: Record<string, string>, samples: LoadedSample[]) => void;

function addBuckets(random: Random, shape: SeriesShape, labels: Record<string, string>, add: Add): void {
  const rates = bounds.map(() => random.below(4));
  const totals = bounds.map(() => 0);
  const columns: LoadedSample[][] = bounds.map(() => []);
  for (const time of times(random, shape)) {
    let sum = 0;
    bounds.forEach((_, i) => {
      totals[i]! += Math.floor(random.next() * 2 * rates[i]!);
      sum += totals[i]!;
      columns[i]!.push({ time, value: sum });
    });
  }
  bounds.forEach((le, i) => add('latency_bucket', { ...labels, le }, columns[i]!));
}

function zone(random: Random): Record<string, string> {
  return random.chance(0.6) ? { zone: random.pick(['a', 'b', 'ü']) } : {};
}

/** Times of the samples, a few of them missing. */
function times(random: Random, { start, interval, samples }: SeriesShape): number[] {
  const loss = random.chance(0.3) ? 0.2 : 0;
  const first = random.chance(0.2) ? random.below(samples) : 0;
  const jitter = random.chance(0.3) ? random.below(interval / 2) : 0;
  const found: number[] = [];
  for (let i = first; i < samples; i++) if (!random.chance(loss)) found.push(start + i * interval + jitter);
  return found;
}

const specials = [NaN, Infinity, -Infinity, 0, 1e-9, 1e15, -3, 0.1];

function gauge(random: Random, shape: SeriesShape, odd: boolean): LoadedSample[] {
  let value = random.below(100);
  const whole = random.chance(0.3);
  const constant = random.chance(0.15);
  return times(random, shape).map((time) => {
    if (odd && random.chance(0.3)) return { time, value: random.pick(specials) };
    if (!constant) value += whole ? random.below(9) - 4 : random.next() * 10 - 5;
    return { time, value };
  });
}

function counter(random: Random, shape: SeriesShape, rate: number): LoadedSample[] {
  let value = random.chance(0.3) ? 0 : random.below(100_000);
  const fraction = random.chance(0.3);
  const resets = random.chance(0.3) ? 0.05 : 0;
  return times(random, shape).map((time) => {
    if (random.chance(resets)) value = 0;
    value += fraction ? random.next() * rate : random.below(rate);
    return { time, value };
  });
}

function histograms(random: Random, shape: SeriesShape): LoadedSample[] {
  const schema = random.pick([0, 0, 1, 3]);
  // No bucket is ever empty: some stores keep an empty bucket, some omit it, so their answers would differ.
  let counts = [1 + random.below(5), 1 + random.below(9), 1 + random.below(5)];
  let zero = random.below(3);
  const resets = random.chance(0.3) ? 0.05 : 0;
  let sum = 0;
  return times(random, shape).map((time) => {
    if (random.chance(resets)) [counts, zero, sum] = [[1, 1, 1], 0, 0];
    counts = counts.map((count) => count + random.below(4));
    zero += random.below(2);
    sum += random.below(50) / 4;
    return { time, value: 0, histogram: histogram(schema, zero, counts, sum) };
  });
}

function histogram(schema: number, zeroCount: number, all: readonly number[], sum: number): FloatHistogram {
  const indexes = all.map((_, i) => i).filter((i) => all[i]! > 0);
  const counts = indexes.map((i) => all[i]!);
  return {
    counterReset: 'unknown',
    schema,
    zeroThreshold: 0.001,
    zeroCount,
    count: counts.reduce((a, b) => a + b, zeroCount),
    sum,
    positive: { indexes, counts },
    negative: { indexes: [], counts: [] },
    customValues: [],
  };
}

function mixed(random: Random, shape: SeriesShape): LoadedSample[] {
  const half = histograms(random, shape);
  return half.map((sample, i) => (i % 16 < 8 ? sample : { time: sample.time, value: i }));
}
