/**
 * One in-memory form for OTLP data, whichever encoding it came in.
 * It holds only what the agent uses: span events and links, and the attributes of exemplars, are skipped.
 * Source: opentelemetry-proto v1 (metrics, trace, common, resource).
 */

/** An attribute's value. Integers outside the exact range of a double stay bigint. `null` is a value left unset. */
export type AnyValue = string | number | bigint | boolean | null | Uint8Array | readonly AnyValue[] | KeyValueList;

export interface KeyValueList {
  readonly entries: readonly Attribute[];
}

export interface Attribute {
  readonly key: string;
  readonly value: AnyValue;
}

export interface Scope {
  readonly name: string;
  readonly version: string;
}

export interface MetricsRequest {
  readonly resources: readonly ResourceMetrics[];
  /** Attributes of its Resources that were beyond the limits and are left out; absent if there were none. */
  readonly skippedAttributes?: number;
}

export interface ResourceMetrics {
  readonly attributes: readonly Attribute[];
  readonly scopes: readonly ScopeMetrics[];
}

export interface ScopeMetrics {
  readonly scope: Scope;
  readonly metrics: readonly Metric[];
}

/** Indexed by the numbers of AggregationTemporality. */
export const temporalities = ['unspecified', 'delta', 'cumulative'] as const;
export type Temporality = (typeof temporalities)[number];

/** A metric with its points. `data` is null for a metric without data of a known kind. */
export interface Metric {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly data: MetricData | null;
}

export type MetricData =
  | { readonly kind: 'gauge'; readonly points: readonly NumberPoint[] }
  | {
      readonly kind: 'sum';
      readonly temporality: Temporality;
      readonly monotonic: boolean;
      readonly points: readonly NumberPoint[];
    }
  | { readonly kind: 'histogram'; readonly temporality: Temporality; readonly points: readonly HistogramPoint[] }
  | { readonly kind: 'exponential'; readonly temporality: Temporality; readonly points: readonly ExponentialPoint[] }
  | { readonly kind: 'summary'; readonly points: readonly SummaryPoint[] };

/**
 * What all points share.
 * Units: nanoseconds since the epoch, as doubles: exact to 256 ns in this century, which is enough to distinguish
 * restarts.
 */
export interface PointBase {
  readonly attributes: readonly Attribute[];
  /** When the cumulative value began to count; 0 when unknown. */
  readonly startNs: number;
  readonly timeNs: number;
  /** The sender says that the stream has no value now (bit 0 of `flags`): the series ended. */
  readonly noValue: boolean;
}

export interface NumberPoint extends PointBase {
  readonly value: number;
  readonly exemplars: readonly Exemplar[];
}

export interface HistogramPoint extends PointBase {
  readonly count: number;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** One element more than `bounds`, or both are empty. Not cumulative. */
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
  readonly exemplars: readonly Exemplar[];
}

export interface ExponentialPoint extends PointBase {
  readonly count: number;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly scale: number;
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  readonly positive: ExponentialBuckets;
  readonly negative: ExponentialBuckets;
  readonly exemplars: readonly Exemplar[];
}

export interface ExponentialBuckets {
  readonly offset: number;
  readonly counts: readonly number[];
}

export interface SummaryPoint extends PointBase {
  readonly count: number;
  readonly sum: number;
  readonly quantiles: readonly { readonly quantile: number; readonly value: number }[];
}

export interface Exemplar {
  readonly timeNs: number;
  readonly value: number;
  /** Lower-case hex, or empty. */
  readonly traceId: string;
  readonly spanId: string;
}

export interface TracesRequest {
  readonly resources: readonly ResourceSpans[];
  /** Attributes of its Resources and spans that were beyond the limits and are left out; absent if there were none. */
  readonly skippedAttributes?: number;
}

export interface ResourceSpans {
  readonly attributes: readonly Attribute[];
  readonly scopes: readonly ScopeSpans[];
}

export interface ScopeSpans {
  readonly scope: Scope;
  readonly spans: readonly Span[];
}

export const spanKinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
export type SpanKind = (typeof spanKinds)[number];

export const statusCodes = ['unset', 'ok', 'error'] as const;
export type SpanStatus = (typeof statusCodes)[number];

export interface Span {
  /** Lower-case hex: 32 digits. */
  readonly traceId: string;
  /** Lower-case hex: 16 digits. */
  readonly spanId: string;
  /** As `spanId`, or empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** Nanoseconds since the epoch, exact: a duration is their difference. */
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: readonly Attribute[];
  readonly status: SpanStatus;
  readonly statusMessage: string;
}

export const emptyScope: Scope = { name: '', version: '' };
export const noAttributes: readonly Attribute[] = [];
export const noBuckets: ExponentialBuckets = { offset: 0, counts: [] };
