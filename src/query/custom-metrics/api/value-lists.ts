import type { DescribedResource } from '../../../api/described-resources.ts';
import { customGroup, externalGroup, type CustomVersion } from './paths.ts';
import { quantity } from './quantity.ts';
import { parseLabelSelector } from '../label-selector.ts';

/** One value with the time of its samples. Units: ms. */
export interface TimedValue {
  readonly value: number;
  readonly timeMs: number;
  readonly windowMs: number;
}

export interface ObjectValue extends TimedValue {
  readonly name: string;
}

export interface LabelledValue extends TimedValue {
  readonly labels: Readonly<Record<string, string>>;
}

/** The subject of a list of custom metric values. */
export interface ListSubject {
  readonly version: CustomVersion;
  readonly resource: DescribedResource;
  readonly namespace: string | undefined;
  readonly metric: string;
  /** The label selector by which the request chooses series. */
  readonly metricLabelSelector: string | undefined;
}

/** A `MetricValueList` of either version. */
export function customValueList(subject: ListSubject, values: readonly ObjectValue[]): unknown {
  const { version, resource, namespace, metric, metricLabelSelector } = subject;
  const selector = metricLabelSelector ? { selector: selectorObject(metricLabelSelector) } : {};
  const items = values.map(({ name, value, timeMs, windowMs }) => {
    const { kind, apiVersion } = resource.ref;
    const describedObject = {
      kind,
      ...(namespace === undefined ? {} : { namespace }),
      name,
      apiVersion: `/${apiVersion}`,
    };
    if (apiVersion.includes('/')) describedObject.apiVersion = apiVersion;
    const timestamp = rfc3339Seconds(timeMs);
    const seconds = Math.round(windowMs / 1000);
    return version === 'v1beta2'
      ? {
          describedObject,
          metric: { name: metric, ...selector },
          timestamp,
          windowSeconds: seconds,
          value: quantity(value),
        }
      : { describedObject, metricName: metric, timestamp, window: seconds, value: quantity(value), ...selector };
  });
  return { kind: 'MetricValueList', apiVersion: `${customGroup}/${version}`, metadata: {}, items };
}

/** An `ExternalMetricValueList`. */
export function externalValueList(metric: string, values: readonly LabelledValue[]): unknown {
  const items = values.map(({ labels, value, timeMs, windowMs }) => ({
    metricName: metric,
    metricLabels: labels,
    timestamp: rfc3339Seconds(timeMs),
    window: Math.round(windowMs / 1000),
    value: quantity(value),
  }));
  return { kind: 'ExternalMetricValueList', apiVersion: `${externalGroup}/v1beta1`, metadata: {}, items };
}

/** `metav1.Time` has whole seconds. The time is cut, not rounded, so that it never lies after the sample. */
const rfc3339Seconds = (ms: number): string =>
  new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');

/** A `metav1.LabelSelector` with the same terms as the text. */
function selectorObject(text: string): unknown {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: unknown[] = [];
  const operators = { in: 'In', notin: 'NotIn', exists: 'Exists', missing: 'DoesNotExist' } as const;
  for (const { key, operator, values } of parseLabelSelector(text, 'metricLabelSelector')) {
    if (operator === 'in' && values.length === 1) matchLabels[key] = values[0]!;
    else {
      const listed = values.length > 0 ? { values } : {};
      matchExpressions.push({ key, operator: operators[operator], ...listed });
    }
  }
  return {
    ...(Object.keys(matchLabels).length > 0 ? { matchLabels } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  };
}
