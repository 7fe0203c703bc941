/** The PromQL answers that the page uses. */
import { ask, type Answer, type AskOptions } from './client.ts';
import { serverClock } from './server-clock.ts';

export type Labels = Readonly<Record<string, string>>;

/** A native histogram: each bucket is [boundary rule, lower, upper, count]. */
export interface HistogramValue {
  readonly count: string;
  readonly sum: string;
  readonly buckets?: readonly (readonly [number, string, string, string])[];
}

export interface Series {
  readonly metric: Labels;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
  readonly histogram?: readonly [number, HistogramValue];
  readonly histograms?: readonly (readonly [number, HistogramValue])[];
}

/** A number as the API writes it; NaN for what is none. */
export const numberOf = (text: string): number => (/^[+-]Inf$/.test(text) ? Number(`${text}inity`) : Number(text));

/** How the agents took part in answering a query; the server adds it for `explain=1`. */
export interface Explained {
  readonly path: string;
  readonly fallbacks: readonly unknown[];
  readonly plan: readonly string[];
  readonly fragments: readonly {
    readonly expr?: string;
    readonly mode?: string;
    readonly nodes: readonly Readonly<Record<string, unknown>>[];
  }[];
}

export type QueryData =
  | { readonly resultType: 'vector' | 'matrix'; readonly result: readonly Series[] }
  | { readonly resultType: 'scalar' | 'string'; readonly result: readonly [number, string] };

export interface TimeRange {
  /** Unit: s since the epoch. */
  readonly start: number;
  readonly end: number;
  /** Unit: s. */
  readonly step: number;
}

/** A request of which only the `Date` of its answer matters, shared by all who wait for it. */
let dated: Promise<unknown> | undefined;

/** The range that ends at `end`, or now by the server's clock if that is undefined. Units: s, s since the epoch. */
export async function lastSeconds(seconds: number, step: number, end: number | undefined): Promise<TimeRange> {
  if (end === undefined && !serverClock.isKnown) await (dated ??= flags().catch(() => {}));
  const until = end ?? serverClock.now() / 1000;
  return { start: until - seconds, end: until, step };
}

/** A result at `time`, or now by the server's clock if that is undefined. Unit: s since the epoch. */
export function instant(
  query: string,
  time: number | undefined,
  options?: AskOptions & { explain?: boolean },
): Promise<Answer<QueryData>> {
  const explain = options?.explain ? { explain: '1' } : {};
  const at = time === undefined ? {} : { time: String(time) };
  return ask('query', { query, ...at, ...explain }, options);
}

/** A result over time, with the times that were asked for: where nothing has a value, the result lacks the time. */
export type RangeData = QueryData & { readonly asked: TimeRange };

export async function range(query: string, asked: TimeRange, options?: AskOptions): Promise<Answer<RangeData>> {
  const [start, end, step] = [asked.start, asked.end, asked.step].map(String) as [string, string, string];
  const answer = await ask<QueryData>('query_range', { query, start, end, step }, options);
  return { ...answer, data: { ...answer.data, asked } };
}

export interface ExemplarSeries {
  readonly seriesLabels: Labels;
  readonly exemplars: readonly { readonly labels: Labels; readonly value: string; readonly timestamp: number }[];
}

export function exemplars(
  query: string,
  { start, end }: TimeRange,
  options?: AskOptions,
): Promise<Answer<ExemplarSeries[]>> {
  return ask('query_exemplars', { query, start: String(start), end: String(end) }, options);
}

/** The settings of the query server, by name; a limit is the one that holds for the caller. */
export function flags(options?: AskOptions): Promise<Answer<Readonly<Record<string, string>>>> {
  return ask('status/flags', {}, options);
}

/** The series of a vector or matrix; empty for a scalar or string. */
export function seriesOf(data: QueryData): readonly Series[] {
  return data.resultType === 'vector' || data.resultType === 'matrix' ? data.result : [];
}
