import type { LabelList } from '../../promql/index.ts';

interface Counted {
  readonly name: string;
  readonly value: number;
}

/** `/api/v1/status/tsdb` from the labels of all series: the most frequent metrics, labels and pairs. Pure. */
export function storeStatus(series: LabelList, minTime: number, maxTime: number, limit: number): object {
  const metrics = new Map<string, number>();
  const pairs = new Map<string, number>();
  const valuesOf = new Map<string, Set<string>>();
  for (const labels of series) {
    for (const [name, value] of labels) {
      if (name === '__name__') add(metrics, value, 1);
      add(pairs, `${name}=${value}`, 1);
      let values = valuesOf.get(name);
      if (values === undefined) valuesOf.set(name, (values = new Set()));
      values.add(value);
    }
  }
  const sizes = [...valuesOf].map(([name, values]) => {
    let bytes = 0;
    for (const value of values) bytes += Buffer.byteLength(value);
    return [name, bytes] as const;
  });
  return {
    // The number of chunks that an agent keeps for a series is not known here: each series counts as one open chunk.
    headStats: { numSeries: series.length, numLabelPairs: pairs.size, chunkCount: series.length, minTime, maxTime },
    seriesCountByMetricName: top(metrics, limit),
    labelValueCountByLabelName: top(
      [...valuesOf].map(([name, values]) => [name, values.size]),
      limit,
    ),
    memoryInBytesByLabelName: top(sizes, limit),
    seriesCountByLabelValuePair: top(pairs, limit),
  };
}

function add(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

function top(counts: Iterable<readonly [string, number]>, limit: number): Counted[] {
  return [...counts]
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([name, value]) => ({ name, value }));
}
