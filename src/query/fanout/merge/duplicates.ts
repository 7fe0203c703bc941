import type { Pacing } from '../../../base/turns/turns.ts';
import type { FloatHistogram } from '../../../promql/index.ts';
import { labelsKey } from '../../../tsdb/index.ts';
import { bytesOfSeries, wholeSeries } from './series-collector.ts';
import type { CollectedSeries, ReadSeries } from './series-collector.ts';

/** The joined series: each set of labels occurs once, in the order of first occurrence. */
export interface Merged<S> {
  readonly series: S[];
  /** How many series were joined into an earlier one. */
  readonly duplicates: number;
}

/** Looking for an earlier series with equal labels costs as much as 100 samples. */
const keyWork = 100;

/**
 * Joins series with equal labels. The result has the samples of both; at a time that both have, it has the sample of
 * the first. Labels identify a series; two agents have the same series while a node's agent is replaced. Pure, except
 * that it lets other work run in between.
 * Guarantees: a series in chunks stays in chunks. If one of two equal series is in chunks, the two are joined when the
 * result is read.
 */
export async function mergeDuplicates(all: readonly ReadSeries[], pacing: Pacing): Promise<Merged<ReadSeries>>;
export async function mergeDuplicates(
  all: readonly CollectedSeries[],
  pacing: Pacing,
): Promise<Merged<CollectedSeries>>;
export async function mergeDuplicates(
  all: readonly CollectedSeries[],
  pacing: Pacing,
): Promise<Merged<CollectedSeries>> {
  const byKey = new Map<string, CollectedSeries>();
  let duplicates = 0;
  for (const series of all) {
    const key = labelsKey(series.labels);
    const known = byKey.get(key);
    if (known !== undefined) duplicates++;
    const one = known === undefined ? series : joinedSeries(known, series);
    byKey.set(key, one);
    const joinWork = known === undefined || 'read' in one ? 0 : 2 * one.timestamps.length;
    if (pacing.spend(keyWork + joinWork)) await pacing.turn();
  }
  return { series: [...byKey.values()], duplicates };
}

function joinedSeries(first: CollectedSeries, second: CollectedSeries): CollectedSeries {
  if (!('read' in first || 'read' in second)) return joined(first, second);
  return {
    labels: first.labels,
    heldBytes: bytesOfSeries(first) + bytesOfSeries(second),
    // Each series is copied: the second may be decoded into the buffers of the first.
    read: () => joined(wholeSeries(first), wholeSeries(second)),
  };
}

/** Values are copied as bits: a stale marker stays one. */
function joined(first: ReadSeries, second: ReadSeries): ReadSeries {
  const length = first.timestamps.length + second.timestamps.length;
  const timestamps = new Float64Array(length);
  const words = new Uint32Array(2 * length);
  const sides = [first, second].map((side) => ({
    ...side,
    words: new Uint32Array(side.values.buffer, side.values.byteOffset, 2 * side.values.length),
    at: 0,
  })) as [Side, Side];
  const [a, b] = sides;
  const histograms: (FloatHistogram | null)[] | undefined = first.histograms || second.histograms ? [] : undefined;
  let n = 0;
  while (a.at < a.timestamps.length || b.at < b.timestamps.length) {
    const [ta, tb] = [a.timestamps[a.at] ?? Infinity, b.timestamps[b.at] ?? Infinity];
    const from = ta <= tb ? a : b;
    timestamps[n] = from.timestamps[from.at]!;
    words[2 * n] = from.words[2 * from.at]!;
    words[2 * n + 1] = from.words[2 * from.at + 1]!;
    histograms?.push(from.histograms?.[from.at] ?? null);
    n++;
    if (ta === tb) b.at++;
    from.at++;
  }
  const values = new Float64Array(words.buffer, 0, n);
  const { labels } = first;
  return { labels, timestamps: timestamps.subarray(0, n), values, ...(histograms ? { histograms } : {}) };
}

type Side = ReadSeries & { readonly words: Uint32Array; at: number };
