import { namespaceLabel } from '../../../api/labels.ts';
import type { autoscalingPresets } from '../../../api/v1alpha1/index.ts';
import type { Matcher } from '../../../promql/index.ts';
import type { DescribedResource } from '../../../api/described-resources.ts';
import type { MetricQuery } from './provider.ts';
import { selectorText, timeOf } from './selectors.ts';

/** The name of a preset in `TrafficMonitor.spec.autoscaling`. */
export type PresetName = (typeof autoscalingPresets)[number];

/** The parameters of a ready-made expression. */
export interface PresetScope {
  /** Labels to keep. */
  readonly by: readonly string[];
  readonly matchers: readonly Matcher[];
  /** A PromQL duration, such as `60000ms`. */
  readonly window: string;
  readonly resource: DescribedResource | undefined;
}

export type PresetText = Pick<MetricQuery, 'value' | 'times'>;

export type Preset = (scope: PresetScope) => PresetText;

const requests = 'http_server_request_duration_count';
const failed: Matcher = { type: '=~', name: 'http_response_status_code', value: '5..' };

const by = (scope: PresetScope, ...more: readonly string[]): string => `by (${[...scope.by, ...more].join(', ')})`;
const summedRate = (scope: PresetScope, name: string, ...more: readonly Matcher[]): string =>
  `sum ${by(scope)} (rate(${selectorText(name, [...scope.matchers, ...more])}[${scope.window}]))`;
const of = (scope: PresetScope, value: string, ...names: readonly string[]): PresetText => ({
  value,
  times: names.map((name) => timeOf(selectorText(name, scope.matchers))),
});

const rateOf =
  (name: string): Preset =>
  (scope) =>
    of(scope, summedRate(scope, name), name);

/** A service without any failed request has zero errors; the metric is not absent. */
const errors = (scope: PresetScope): string =>
  `(${summedRate(scope, requests, failed)} or ${summedRate(scope, requests)} * 0)`;
const errorsPerSecond: Preset = (scope) => of(scope, errors(scope), requests);
const errorRatio: Preset = (scope) => of(scope, `${errors(scope)} / ${summedRate(scope, requests)}`, requests);

const latency =
  (quantile: number): Preset =>
  (scope) => {
    const buckets = selectorText('http_server_request_duration_bucket', scope.matchers);
    const rates = `sum ${by(scope, 'le')} (rate(${buckets}[${scope.window}]))`;
    return of(scope, `histogram_quantile(${quantile}, ${rates})`, requests);
  };

const requestBytes = 'http_server_request_body_size_sum';
const responseBytes = 'http_server_response_body_size_sum';
/**
 * Network bytes in both directions. Body sizes cannot be used: depending on the runtime, the instrument includes the
 * headers, counts bodies twice, or does not count them at all. An object without flows has no value.
 */
const bytesPerSecond: Preset = (scope) => {
  const ends = (['dst', 'src'] as const).map((end) => ({ end, rate: flowRate(end)(scope) }));
  // Not "+": an object that only sends, or only receives, would have no value.
  const apart = ends.map(({ end, rate }) => `label_replace(${rate.value}, "svc_end", "${end}", "", "")`);
  return { value: `sum ${by(scope)} (${apart.join(' or ')})`, times: ends.flatMap(({ rate }) => rate.times) };
};

/** The presets that a TrafficMonitor can name. */
export const monitorPresets: Readonly<Record<PresetName, Preset>> = {
  RequestsPerSecond: rateOf(requests),
  ErrorRatio: errorRatio,
  LatencyP50: latency(0.5),
  LatencyP90: latency(0.9),
  LatencyP99: latency(0.99),
  BytesPerSecond: bytesPerSecond,
};

/** Metrics that exist in every cluster without configuration. */
export const builtInPresets: Readonly<Record<string, Preset>> = {
  http_requests_per_second: rateOf(requests),
  http_request_errors_per_second: errorsPerSecond,
  http_request_error_ratio: errorRatio,
  http_request_duration_p50_seconds: latency(0.5),
  http_request_duration_p90_seconds: latency(0.9),
  http_request_duration_p99_seconds: latency(0.99),
  http_request_bytes_per_second: rateOf(requestBytes),
  http_response_bytes_per_second: rateOf(responseBytes),
  network_receive_bytes_per_second: flowRate('dst'),
  network_transmit_bytes_per_second: flowRate('src'),
};

/**
 * Rate of the bytes at one end of the flows. A flow between two nodes is captured on both, and each agent adds its
 * node's name to the ends that are pods of its node. Of the two records, only the one that was captured on the node of
 * `end` is counted.
 */
function flowRate(end: 'src' | 'dst'): Preset {
  return (scope) => {
    const flows = 'ebpf_network_flow_bytes';
    const node = `k8s_${end}_node_name`;
    const own = flowLabels(end, scope.resource);
    const moved: Record<string, string> = { [namespaceLabel]: `k8s_${end}_namespace` };
    if (scope.resource) moved[scope.resource.label] = own.name;
    const matchers = [...scope.matchers.map((m) => ({ ...m, name: moved[m.name] ?? m.name })), ...own.matchers];
    const rate = (...more: readonly Matcher[]): string =>
      `rate(${selectorText(flows, [...matchers, ...more])}[${scope.window}])`;
    const pairs = `label_replace(count by (k8s_node_name) (${selectorText(flows, matchers)}), "${node}", "$1", "k8s_node_name", "(.*)")`;
    const kept = `(${rate({ type: '!=', name: node, value: '' })} and on (k8s_node_name, ${node}) ${pairs})`;
    const keep = `by (${scope.by.map((label) => moved[label] ?? label).join(', ')})`;
    // Takes only what is aggregated by `keep`: other series may be equal once renamed, which is an error.
    const renamed = (vector: string): string =>
      scope.by.reduce(
        (text, label) => (moved[label] ? `label_replace(${text}, "${label}", "$1", "${moved[label]}", "(.*)")` : text),
        vector,
      );
    return {
      value: `sum by (${scope.by.join(', ')}) (${renamed(`sum ${keep} (${kept})`)})`,
      times: [renamed(`max ${keep} (${timeOf(selectorText(flows, matchers))})`)],
    };
  };
}

/** The flow labels that name the object at one end and its kind. */
function flowLabels(
  end: 'src' | 'dst',
  resource: DescribedResource | undefined,
): { name: string; matchers: Matcher[] } {
  const kind = resource?.ref.kind;
  if (kind === undefined || kind === 'Namespace') return { name: `k8s_${end}_namespace`, matchers: [] };
  if (kind === 'Node') return { name: `k8s_${end}_node_name`, matchers: [] };
  if (kind === 'Pod') {
    return { name: `k8s_${end}_name`, matchers: [{ type: '=', name: `k8s_${end}_type`, value: 'Pod' }] };
  }
  return {
    name: `k8s_${end}_owner_name`,
    matchers: [{ type: '=', name: `k8s_${end}_owner_type`, value: kind }],
  };
}
