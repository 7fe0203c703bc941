import { namespaceLabel } from '../../../api/labels.ts';
import type { Matcher } from '../../../promql/index.ts';
import { describedResources } from '../../../api/described-resources.ts';
import { builtInPresets } from './presets.ts';
import type { Preset } from './presets.ts';
import type { MetricProvider, MetricQuery, MetricRequest } from './provider.ts';

/** The window of the metrics that exist without configuration. Units: ms. */
export const defaultWindowMs = 60_000;

/** Provides the metrics that exist in every cluster without configuration. */
export const presetProvider: MetricProvider = {
  name: 'preset',
  names: () =>
    describedResources.flatMap((resource) => Object.keys(builtInPresets).map((metric) => ({ resource, metric }))),
  externalNames: () => Object.keys(builtInPresets),
  find(request) {
    const preset = Object.hasOwn(builtInPresets, request.metric) ? builtInPresets[request.metric] : undefined;
    return preset && presetQuery(preset, request, defaultWindowMs);
  },
};

/**
 * The query of a preset for the objects of one kind. As an external metric it has one row for each service of a
 * namespace; an autoscaler adds the rows up.
 */
export function presetQuery(
  preset: Preset,
  { resource, namespace, matchers, names }: Omit<MetricRequest, 'metric'>,
  windowMs: number,
): MetricQuery {
  const own: Matcher[] = namespace === undefined ? [] : [{ type: '=', name: namespaceLabel, value: namespace }];
  if (resource) {
    // Requests for pods share one evaluation over the namespace. A single object of another kind is evaluated alone.
    const [only] = names?.length === 1 && resource.name !== 'pods' ? names : [];
    own.push({ type: only === undefined ? '!=' : '=', name: resource.label, value: only ?? '' });
  }
  const by = resource ? [resource.label] : [namespaceLabel, 'service_name'];
  const { value, times } = preset({ by, matchers: [...own, ...matchers], window: `${windowMs}ms`, resource });
  return { value, times, windowMs, label: resource?.label };
}
