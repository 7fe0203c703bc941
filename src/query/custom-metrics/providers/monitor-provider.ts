import { describedResource, unofferedKind, type DescribedResource } from '../../../api/described-resources.ts';
import { namespaceLabel } from '../../../api/labels.ts';
import type { TrafficMonitor, TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { parseDuration } from '../../../base/duration.ts';
import { compareMonitors, lastMonitorSpec } from '../../../capture/index.ts';
import { judgeMetric, parse, printInOrder, typeOf, withMatchers, type Matcher } from '../../../promql/index.ts';
import { defaultWindowMs, presetQuery } from './preset-provider.ts';
import { monitorPresets } from './presets.ts';
import type { MetricProvider, MetricQuery } from './provider.ts';
import { sampleTimes, widestRange } from './selectors.ts';

type MonitorMetric = NonNullable<NonNullable<TrafficMonitorSpec['autoscaling']>['metrics']>[number];

/** The fields of a monitor that this provider reads. */
export type MonitorLike = Pick<TrafficMonitor, 'metadata' | 'spec'> & Partial<Pick<TrafficMonitor, 'status'>>;

/** A metric of a monitor. No monitor of higher precedence in the namespace declares the same metric. */
export interface DeclaredMetric {
  readonly namespace: string;
  readonly resource: DescribedResource;
  readonly metric: MonitorMetric;
}

/**
 * The metrics that monitors declare. When two monitors of one namespace declare metrics of the same name for the same
 * kind, the one with the higher precedence applies, as for every other conflict. A refused monitor counts with its last
 * accepted spec if that is still in force: only then its status has the hash of a configuration.
 * `refused` is called for each metric that cannot be offered. Pure otherwise.
 */
export function declaredMetrics(
  monitors: readonly MonitorLike[],
  refused: (metric: string, reason: string) => void = () => {},
): DeclaredMetric[] {
  const found = new Map<string, DeclaredMetric>();
  const inForce = monitors.flatMap(({ metadata, spec, status }) => {
    const isRefused = status?.conditions?.some((c) => c.type === 'Accepted' && c.status === 'False');
    const last = status?.configHash === undefined ? undefined : lastMonitorSpec(status);
    const used = isRefused ? last : spec;
    return used && used.mode !== 'Exclude' && !used.suspend ? [{ metadata, spec: used }] : [];
  });
  for (const { metadata, spec } of inForce.sort(compareMonitors)) {
    const namespace = metadata.namespace ?? '';
    for (const metric of spec.autoscaling?.metrics ?? []) {
      const key = `${namespace}/${metric.resource}/${metric.name}`;
      const resource = describedResource(metric.resource);
      const reason = whyUnusable(metric);
      if (resource && reason === undefined) {
        if (!found.has(key)) found.set(key, { namespace, resource, metric });
      } else refused(key, reason ?? '');
    }
  }
  return [...found.values()];
}

/**
 * The API server cannot validate PromQL: an expression that does not parse, is not a number, or costs too much, is not
 * offered.
 */
function whyUnusable({ expr, resource }: MonitorMetric): string | undefined {
  const unoffered = unofferedKind(resource);
  if (unoffered !== undefined) return `resource: ${unoffered}`;
  const fault = expr === undefined ? undefined : judgeMetric(expr);
  return fault && `expr: ${fault.message}`;
}

/** Metrics of `TrafficMonitor.spec.autoscaling`; `declared` is called at each use and must be cheap. */
export function monitorProvider(
  declared: () => readonly DeclaredMetric[],
  notReady: () => string | undefined = () => undefined,
): MetricProvider {
  return {
    name: 'monitor',
    notReady,
    names: () => declared().map(({ resource, metric }) => ({ resource, metric: metric.name })),
    externalNames: () => declared().map(({ metric }) => metric.name),
    find(request) {
      const { resource, matchers, names } = request;
      // A monitor declares metrics for its own namespace only, also when the described object is the namespace itself.
      const ofNamespace = resource?.name === 'namespaces';
      const namespace = ofNamespace && names?.length === 1 ? names[0] : request.namespace;
      const found = declared().find(
        (one) =>
          one.namespace === namespace &&
          one.metric.name === request.metric &&
          (!resource || one.resource.name === resource.name),
      );
      if (!found) return undefined;
      const { preset, window } = found.metric;
      const windowMs = window === undefined ? defaultWindowMs : parseDuration(window, 'window');
      return preset === undefined
        ? exprQuery(found, matchers, ofNamespace ? undefined : resource?.label, windowMs)
        : presetQuery(monitorPresets[preset], { ...request, namespace }, windowMs);
    },
  };
}

/** Every selector of the expression is restricted to the monitor's namespace: a team sees its own series only. */
function exprQuery(
  { namespace, metric }: DeclaredMetric,
  matchers: readonly Matcher[],
  label: string | undefined,
  windowMs: number,
): MetricQuery {
  const own: Matcher = { type: '=', name: namespaceLabel, value: namespace };
  const expr = withMatchers(parse(metric.expr ?? ''), [own, ...matchers]);
  const text = printInOrder(expr);
  return {
    value: typeOf(expr) === 'scalar' ? `vector(${text})` : text,
    times: sampleTimes(expr),
    windowMs: metric.window === undefined ? widestRange(expr) || windowMs : windowMs,
    label,
  };
}
