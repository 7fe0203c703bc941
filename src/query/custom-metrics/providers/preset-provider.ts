import { namespaceLabel } from '../../../api/labels.ts';
import type { Matcher } from '../../../promql/index.ts';
import { describedResources, type DescribedResource } from '../resources.ts';
import { builtInPresets } from './presets.ts';
import type { Preset } from './presets.ts';
import type { MetricProvider, MetricQuery, MetricRequest } from './provider.ts';

/** The window of the metrics that exist without configuration. Units: ms. */
export const defaultWindowMs = 60_000;

/** The metrics that exist in every cluster. */
export const presetProvider: MetricProvider = {
  name: 'preset',
  names: () =>
    describedResources.flatMap((resource) => Object.keys(builtInPresets).map((metric) => ({ resource, metric }))),
  externalNames: () => Object.keys(builtInPresets),
  find(request) {
    const preset = ownPreset(request.metric);
    return preset && presetQuery(preset, request, defaultWindowMs);
  },
  findExternal({ metric, namespace, matchers }) {
    const preset = ownPreset(metric);
    return preset && externalPresetQuery(preset, namespace, matchers, defaultWindowMs);
  },
};

const ownPreset = (name: string): Preset | undefined =>
  Object.hasOwn(builtInPresets, name) ? builtInPresets[name] : undefined;

/** A preset over the objects of one kind. */
export function presetQuery(
  preset: Preset,
  { resource, namespace, matchers, names }: Omit<MetricRequest, 'metric'>,
  windowMs: number,
): MetricQuery {
  // Requests for sets of pods share one evaluation over the namespace; a single object is evaluated alone.
  const [only] = names?.length === 1 ? names : [];
  const own: Matcher[] = [
    ...(namespace === undefined ? [] : [{ type: '=' as const, name: namespaceLabel, value: namespace }]),
    only === undefined || resource.name === 'pods'
      ? { type: '!=', name: resource.label, value: '' }
      : { type: '=', name: resource.label, value: only },
    ...matchers,
  ];
  return query(preset, [resource.label], own, windowMs, resource);
}

/** A preset over a namespace's services: one row for each service, which an autoscaler adds up. */
export function externalPresetQuery(
  preset: Preset,
  namespace: string,
  matchers: readonly Matcher[],
  windowMs: number,
): MetricQuery {
  const own: Matcher[] = [{ type: '=', name: namespaceLabel, value: namespace }, ...matchers];
  return query(preset, [namespaceLabel, 'service_name'], own, windowMs, undefined);
}

function query(
  preset: Preset,
  by: readonly string[],
  matchers: readonly Matcher[],
  windowMs: number,
  resource: DescribedResource | undefined,
): MetricQuery {
  const { value, samples } = preset({ by, matchers, window: `${windowMs}ms`, resource });
  return { value, samples, windowMs, label: by.length === 1 ? by[0] : undefined };
}
