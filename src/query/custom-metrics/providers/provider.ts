import type { Matcher } from '../../../promql/index.ts';
import type { DescribedResource } from '../resources.ts';

/** Which values of a metric are wanted. */
export interface MetricRequest {
  readonly resource: DescribedResource;
  /** Undefined for kinds without a namespace. */
  readonly namespace: string | undefined;
  readonly metric: string;
  /** Conditions on the series, from `metricLabelSelector`. */
  readonly matchers: readonly Matcher[];
  /** The objects wanted; undefined for all. A provider may use it to ask for less. */
  readonly names: readonly string[] | undefined;
}

/** What an external metric is asked for with. */
export interface ExternalRequest {
  readonly namespace: string;
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

/** How a metric is computed. */
export interface MetricQuery {
  /** PromQL of an instant vector (or a scalar). */
  readonly value: string;
  /** PromQL of the instant selectors whose samples are behind the value, for their times. */
  readonly samples: readonly string[];
  /** How far back the value looks. Units: ms. */
  readonly windowMs: number;
  /** The label that names the object; undefined: every row describes the namespace itself. */
  readonly label: string | undefined;
}

/** A metric that exists for a kind of object, for discovery. */
export interface MetricName {
  readonly resource: DescribedResource;
  readonly metric: string;
}

/** One source of metrics. Guarantees: quick and without I/O. */
export interface MetricProvider {
  /** For logs and metrics. */
  readonly name: string;
  names(): readonly MetricName[];
  externalNames(): readonly string[];
  find(request: MetricRequest): MetricQuery | undefined;
  findExternal(request: ExternalRequest): MetricQuery | undefined;
}
