import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import type { LabelList } from '../../promql/index.ts';

interface Counted {
  readonly name: string;
  readonly value: number;
}

/** For pacing: counting one label, and one comparison, cost as much as this many samples. */
const [labelWork, compareWork] = [30, 20];

/**
 * Memory of the counts for each series: most of its labels have values that other series have too, and a few are its
 * own. Bytes.
 */
export const countBytes = 400;

/** `/api/v1/status/tsdb` from the labels of all series: the most frequent metrics, labels and pairs. */
export async function storeStatus(
  pacing: Pacing,
  series: LabelList,
  { minTime, maxTime, limit }: { readonly minTime: number; readonly maxTime: number; readonly limit: number },
): Promise<object> {
  const metrics = new Map<string, number>();
  /** How many series have each value, by label. */
  const labels = new Map<string, Map<string, number>>();
  for (const own of series) {
    for (const [name, value] of own) {
      if (name === '__name__') add(metrics, value);
      let values = labels.get(name);
      if (values === undefined) labels.set(name, (values = new Map()));
      add(values, value);
    }
    if (pacing.spend(own.length * labelWork)) await pacing.turn();
  }
  const pairs: Counted[] = [];
  const sizes: Counted[] = [];
  for (const [name, values] of labels) {
    let bytes = 0;
    for (const [value, count] of values) {
      bytes += Buffer.byteLength(value);
      pairs.push({ name: `${name}=${value}`, value: count });
      if (pacing.spend(labelWork)) await pacing.turn();
    }
    sizes.push({ name, value: bytes });
  }
  const top = async (counts: readonly Counted[]): Promise<Counted[]> =>
    (await sortInTurns(pacing, counts, byCount, compareWork)).slice(0, limit);
  return {
    // The number of chunks that an agent keeps for a series is not known here: each series counts as one open chunk.
    headStats: { numSeries: series.length, numLabelPairs: pairs.length, chunkCount: series.length, minTime, maxTime },
    seriesCountByMetricName: await top(countedOf(metrics)),
    labelValueCountByLabelName: await top([...labels].map(([name, values]) => ({ name, value: values.size }))),
    memoryInBytesByLabelName: await top(sizes),
    seriesCountByLabelValuePair: await top(pairs),
  };
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function countedOf(counts: ReadonlyMap<string, number>): Counted[] {
  return [...counts].map(([name, value]) => ({ name, value }));
}

function byCount(a: Counted, b: Counted): number {
  return b.value - a.value || (a.name < b.name ? -1 : 1);
}
