/** A result as the query API sends it. Times in seconds, values as text. */
export type QueryData =
  | { resultType: 'vector'; result: VectorSample[] }
  | { resultType: 'matrix'; result: MatrixSeries[] }
  | { resultType: 'scalar'; result: [number, string] }
  | { resultType: 'string'; result: [number, string] };

export type Labels = Readonly<Record<string, string>>;

export interface VectorSample {
  metric: Labels;
  value?: [number, string];
  histogram?: [number, HistogramJson];
}

export interface MatrixSeries {
  metric: Labels;
  values?: [number, string][];
  histograms?: [number, HistogramJson][];
}

/** A native histogram: buckets are `[kind of bounds, lower, upper, count]`. */
export interface HistogramJson {
  count: string;
  sum: string;
  buckets?: [number, string, string, string][];
}

/** One sample of any kind, its value as text. */
export interface Sample {
  readonly seconds: number;
  readonly text: string;
}

export const samplesOf = ({ values = [], histograms = [] }: MatrixSeries): Sample[] =>
  [
    ...values.map(([seconds, text]) => ({ seconds, text })),
    ...histograms.map(([seconds, histogram]) => ({ seconds, text: histogramText(histogram) })),
  ].sort((a, b) => a.seconds - b.seconds);

export const sampleOf = ({ value, histogram }: VectorSample): Sample =>
  histogram
    ? { seconds: histogram[0], text: histogramText(histogram[1]) }
    : { seconds: value?.[0] ?? NaN, text: value?.[1] ?? '' };

/** A histogram as Prometheus prints it: `{count:3, sum:5, (1,2]:3}`. */
function histogramText({ count, sum, buckets = [] }: HistogramJson): string {
  const parts = buckets.map(([kind, lower, upper, n]) => {
    const open = kind === 1 || kind === 3 ? '[' : '(';
    const close = kind === 0 || kind === 3 ? ']' : ')';
    return `${open}${lower},${upper}${close}:${n}`;
  });
  return `{${[`count:${count}`, `sum:${sum}`, ...parts].join(', ')}}`;
}

/** A series in PromQL syntax: `name{a="b", c="d"}`; `{}` when it has no labels. Pure. */
export function seriesText(metric: Labels): string {
  const { __name__: name = '', ...labels } = metric;
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 && name !== '' ? name : `${name}{${pairs.join(', ')}}`;
}
