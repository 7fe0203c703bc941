import {
  QueryError,
  almostEqual,
  labelsKey,
  sortedLabels,
  type Labels,
  type QueryResult,
} from '../../src/promql/index.ts';
import { allBuckets } from '../../src/promql/histogram/buckets.ts';
import type { FloatHistogram } from '../../src/promql/index.ts';
import { isWithinReach } from '../../src/testing/promql/input-error.ts';

/** An answer of Prometheus' query API. */
export interface PeerAnswer {
  readonly status: 'success' | 'error';
  readonly errorType?: string;
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
  readonly data?: { readonly resultType: string; readonly result: unknown };
}

type Pair = readonly [number, string];
type PeerBucket = readonly [number, string, string, string];
type PeerHistogram = readonly [number, { count: string; sum: string; buckets?: readonly PeerBucket[] }];
interface PeerSeries {
  readonly metric: Record<string, string>;
  readonly value?: Pair;
  readonly values?: readonly Pair[];
  readonly histogram?: PeerHistogram;
  readonly histograms?: readonly PeerHistogram[];
}

/**
 * Labels as a key. A number in the label `value`, as count_values writes it, is rounded to ten digits: the last digits
 * of sinh and similar functions differ.
 */
function keyOf(labels: Labels): string {
  const rounded = labels.map(([name, value]): [string, string] =>
    name === 'value' && /^-?\d+(?:\.\d+)?$/.test(value) ? [name, Number(value).toPrecision(10)] : [name, value],
  );
  return labelsKey(rounded);
}

/**
 * Adds points under a key. Two label sets that differ only beyond the tenth digit have the same key: their values are
 * added up.
 */
function addPoints(
  found: Map<string, Map<string, Point>>,
  key: string,
  points: Iterable<readonly [string, Point]>,
): void {
  const known = found.get(key) ?? new Map<string, Point>();
  found.set(key, known);
  for (const [time, point] of points) {
    const before = known.get(time);
    known.set(time, before?.length === 1 && point.length === 1 ? [before[0]! + point[0]!] : point);
  }
}

/** One point as numbers: a float, or count, sum and the buckets of a histogram. */
type Point = readonly number[];
type Points = ReadonlyMap<string, Point>;

/** The tolerance of Prometheus' own test runner: logarithms, powers and sums in another order differ by noise. */
const epsilon = 1e-6;

/**
 * What differs between our answer (or error) and the peer's; null when they agree. `shifted` are our answers to the
 * same query over samples with other last digits: a number may differ from the peer's by as much as it differs from the
 * numbers in `shifted`.
 */
export function difference(
  ours: QueryResult | Error,
  peer: PeerAnswer,
  shifted: readonly (QueryResult | Error)[] = [],
): string | null {
  if (ours instanceof Error) {
    const type = ours instanceof QueryError ? ours.errorType : `internal (${ours.stack})`;
    if (peer.status === 'success') return `error ${type}: ${ours.message}; the peer answers`;
    return type === peer.errorType ? null : `error ${type}: ${ours.message}; peer ${peer.errorType}: ${peer.error}`;
  }
  if (peer.status === 'error') return `an answer; peer ${peer.errorType}: ${peer.error}`;
  const { resultType, result } = peer.data!;
  if (ours.value.type !== resultType) return `type ${ours.value.type}; peer ${resultType}`;
  const others = shifted.flatMap((one) => (one instanceof Error ? [] : [ourSeries(one)]));
  const different = differentSeries(ourSeries(ours), peerSeries(result, resultType), others);
  return different ?? differentNotes(ours, peer);
}

/** The kind of an annotation: its text without position, bucket bounds and counts, its numbers rounded. */
function noteKind(text: string): string {
  return text
    .replace(/\d+\.\d{10,}/g, (digits) => Number(digits).toPrecision(10))
    .replace(/ \(\d+:\d+\)$/, '')
    .replace(/, from buckets .*$/, '')
    .replace(/ \(\d+ occurrences\)/, '');
}

function differentNotes(ours: QueryResult, peer: PeerAnswer): string | null {
  for (const kind of ['warnings', 'infos'] as const) {
    const want = [...(peer[kind] ?? [])];
    // The API shows ten annotations and counts the others.
    if (want.some((text) => /more (?:warning|info) annotations omitted/.test(text))) continue;
    const [a, b] = [ours[kind].map(noteKind).sort(), want.map(noteKind).sort()];
    // When several sample types are incompatible at one step, Prometheus annotates only the last; we annotate each. So
    // we may have more annotations than Prometheus, but must not lack one.
    const isOfTypes = (text: string): boolean => text.includes('incompatible sample types');
    const extra = b.some(isOfTypes) ? a.filter(isOfTypes) : [];
    const [x, y] = [new Set(a), new Set([...b, ...extra])];
    if (x.size !== y.size || [...x].some((text) => !y.has(text)))
      return `${kind} ${JSON.stringify(a)}; peer ${JSON.stringify(b)}`;
  }
  return null;
}

type AllSeries = ReadonlyMap<string, Points>;

function differentSeries(a: AllSeries, peers: AllSeries, shifted: readonly AllSeries[]): string | null {
  const b = underOurKeys(peers, a);
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const [ours, peer] = [a.get(key), b.get(key)];
    const name = JSON.stringify(key.replaceAll('\x00', ' '));
    if (ours === undefined) return `no series ${name}`;
    if (peer === undefined) return `series ${name} that the peer does not have`;
    for (const time of new Set([...ours.keys(), ...peer.keys()])) {
      const [x, y] = [ours.get(time), peer.get(time)];
      if (x === undefined) return `${name}: nothing at ${time}; peer ${y!.join(' ')}`;
      if (y === undefined) return `${name}: ${x.join(' ')} at ${time}; peer nothing`;
      const others = shifted.map((series) => series.get(key)?.get(time)).filter((point) => point?.length === x.length);
      const agrees = (v: number, i: number): boolean =>
        almostEqual(v, y[i]!, epsilon) || isWithinReach(y[i]!, [v, ...others.map((point) => point![i]!)]);
      if (x.length !== y.length || !x.every(agrees)) {
        return `${name}: ${x.join(' ')} at ${time}; peer ${y.join(' ')}`;
      }
    }
  }
  return null;
}

/**
 * The peer's series by our keys. If a key of the peer differs from one of ours only by a nearly equal number in the
 * label `value`, it is replaced by ours: nearly equal numbers may be rounded to different tenth digits.
 */
function underOurKeys(peer: AllSeries, ours: AllSeries): AllSeries {
  const free = [...ours.keys()].filter((key) => !peer.has(key)).map(countedIn);
  const found = new Map<string, Map<string, Point>>();
  for (const [key, points] of peer) {
    const own = ours.has(key) ? null : countedIn(key);
    const same = free.find(
      (one) => own?.rest === one?.rest && almostEqual(own?.value ?? NaN, one?.value ?? 0, epsilon),
    );
    addPoints(found, same?.key ?? key, points);
  }
  return found;
}

/** The number in the label `value` of a key, and the rest of the key; null without one. */
function countedIn(key: string): { key: string; value: number; rest: string } | null {
  const [, before, text, after] = /^(.*(?<=^|\x00)value\x00)(-?\d[\d.e+-]*)(\x00.*)$/s.exec(key) ?? [];
  return text === undefined ? null : { key, value: Number(text), rest: `${before}${after}` };
}

function histogramPoint(histogram: FloatHistogram): Point {
  const buckets = allBuckets(histogram).filter(({ count }) => count !== 0);
  return [histogram.count, histogram.sum, ...buckets.flatMap(({ lower, upper, count }) => [lower, upper, count])];
}

function ourSeries({ value }: QueryResult): Map<string, Points> {
  const found = new Map<string, Map<string, Point>>();
  const add = (labels: Labels, points: Iterable<[string, Point]>): void => addPoints(found, keyOf(labels), points);
  if (value.type === 'scalar') add([], [[String(value.timestamp / 1000), [value.value]]]);
  else if (value.type === 'string') add([['text', value.value]], []);
  else if (value.type === 'vector') {
    for (const { labels, timestamp, value: v, histogram } of value.elements) {
      add(labels, [[String(timestamp / 1000), histogram === undefined ? [v] : histogramPoint(histogram)]]);
    }
  } else {
    for (const { labels, timestamps, values, histograms } of value.series) {
      add(
        labels,
        Array.from(timestamps, (time, i): [string, Point] => [String(time / 1000), [values[i]!]]),
      );
      const natives = histograms.map(({ timestamp, histogram }): [string, Point] => [
        String(timestamp / 1000),
        histogramPoint(histogram),
      ]);
      add(labels, natives);
    }
  }
  return found;
}

const number = (text: string): number => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

function peerPoint([time, { count, sum, buckets = [] }]: PeerHistogram): [string, Point] {
  const parts = buckets.flatMap(([, lower, upper, n]) => [lower, upper, n]);
  return [String(time), [count, sum, ...parts].map(number)];
}

function peerSeries(result: unknown, type: string): Map<string, Points> {
  if (type === 'scalar') {
    const [time, text] = result as Pair;
    return new Map([['', new Map([[String(time), [number(text)]]])]]);
  }
  if (type === 'string') return new Map([[labelsKey([['text', (result as Pair)[1]]]), new Map()]]);
  const found = new Map<string, Map<string, Point>>();
  for (const { metric, value, values = [], histogram, histograms = [] } of result as readonly PeerSeries[]) {
    const floats = value === undefined ? values : [value, ...values];
    const natives = histogram === undefined ? histograms : [histogram, ...histograms];
    const points = floats.map(([time, text]): [string, Point] => [String(time), [number(text)]]);
    addPoints(found, keyOf(sortedLabels(Object.entries(metric))), [...points, ...natives.map(peerPoint)]);
  }
  return found;
}
