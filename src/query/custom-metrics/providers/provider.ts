import type { Matcher } from '../../../promql/index.ts';
import type { DescribedResource } from '../../../api/described-resources.ts';

/** The values of a metric that a request asks for. */
export interface MetricRequest {
  /** The kind of the described objects; undefined: an external metric, which describes none. */
  readonly resource: DescribedResource | undefined;
  /** Undefined for kinds without a namespace. External metrics have one. */
  readonly namespace: string | undefined;
  readonly metric: string;
  /** Conditions on the series, from `metricLabelSelector`. */
  readonly matchers: readonly Matcher[];
  /** The requested objects; undefined for all. A provider may use it to read fewer series. */
  readonly names: readonly string[] | undefined;
}

/** How a metric is computed. */
export interface MetricQuery {
  /** PromQL of an instant vector (or a scalar). */
  readonly value: string;
  /**
   * PromQL of the times of the samples that the value is computed from, one instant vector for each input. `timestamp`
   * must be applied to the selector itself: of anything else it is the time of the evaluation. Units: seconds.
   */
  readonly times: readonly string[];
  /** The window of the value. Units: ms. */
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
  /** Why the provider cannot tell yet which metrics it has; undefined or absent when it can. */
  readonly notReady?: () => string | undefined;
  names(): readonly MetricName[];
  externalNames(): readonly string[];
  find(request: MetricRequest): MetricQuery | undefined;
}
