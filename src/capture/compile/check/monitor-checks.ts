import type { TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { exportFault } from '../exports.ts';
import { durationFault, longestInterval } from '../durations.ts';
import {
  droppableText,
  globText,
  headerText,
  labelKeyText,
  labelValueText,
  routeText,
  type TextCheck,
} from './text-checks.ts';
import type { MonitorFinding } from '../types.ts';

type Check = (spec: TrafficMonitorSpec) => MonitorFinding | null;

/**
 * Why a spec cannot be compiled, or null. The schema and its CEL rules come first. These checks cover what the schema
 * cannot express, and repeat what would be dangerous for the instrument if the schema had a gap.
 */
export function monitorFinding(spec: TrafficMonitorSpec): MonitorFinding | null {
  for (const check of checks) {
    const finding = check(spec);
    if (finding) return finding;
  }
  return null;
}

/** In order: only the first finding is reported. */
const checks: readonly Check[] = [
  (spec) =>
    spec.selector || spec.workloads || spec.ports
      ? null
      : { reason: 'Invalid', message: 'spec: select something; use selector: {} for the whole namespace' },
  supportedOperators,
  selectorStrings,
  (spec) =>
    each(
      'spec.workloads',
      spec.workloads?.map((w) => w.name),
      globText,
      '.name',
    ),
  (spec) => each('spec.containers.include', spec.containers?.include, globText),
  (spec) => each('spec.http.routes', spec.http?.routes, routeText, '', 'Invalid'),
  (spec) => each('spec.metrics.labels.podLabels', spec.metrics?.labels?.podLabels, labelKeyText, '', 'Invalid'),
  (spec) => each('spec.metrics.labels.exclude', spec.metrics?.labels?.exclude, droppableText, '', 'Invalid'),
  durations,
  destinations,
  (spec) => each('spec.http.headers.capture', spec.http?.headers?.capture, headerText, '', 'Invalid'),
];

function supportedOperators(spec: TrafficMonitorSpec): MonitorFinding | null {
  const bad = spec.selector?.matchExpressions?.find((e) => e.operator !== 'In' && e.operator !== 'Exists');
  return bad
    ? {
        reason: 'UnsupportedSelector',
        message: `spec.selector: ${bad.operator} is unsupported; use a second monitor with mode: Exclude`,
      }
    : null;
}

function selectorStrings(spec: TrafficMonitorSpec): MonitorFinding | null {
  const labels = Object.entries(spec.selector?.matchLabels ?? {});
  const expressions = spec.selector?.matchExpressions ?? [];
  const empty = expressions.find((e) => e.operator === 'In' && (e.values ?? []).length === 0);
  if (empty) return { reason: 'UnsafeSelector', message: `spec.selector: In for ${empty.key} needs a value` };
  return (
    each(
      'spec.selector.matchLabels',
      labels.map(([key]) => key),
      labelKeyText,
    ) ??
    each(
      'spec.selector.matchLabels',
      labels.map(([, value]) => value),
      labelValueText,
    ) ??
    each(
      'spec.selector.matchExpressions',
      expressions.map((e) => e.key),
      labelKeyText,
      '.key',
    ) ??
    each(
      'spec.selector.matchExpressions',
      expressions.flatMap((e) => e.values ?? []),
      labelValueText,
      '.values',
    )
  );
}

function durations(spec: TrafficMonitorSpec): MonitorFinding | null {
  const fault = durationFault(
    {
      'spec.metrics.interval': spec.metrics?.interval,
      'spec.sampling.keepSlowerThan': spec.sampling?.keepSlowerThan,
    },
    longestInterval,
  );
  return fault ? { reason: 'Invalid', message: fault } : null;
}

function destinations(spec: TrafficMonitorSpec): MonitorFinding | null {
  const fault = exportFault(spec.export);
  return fault === null ? null : { reason: 'Invalid', message: fault };
}

function each(
  field: string,
  values: readonly string[] | undefined,
  check: TextCheck,
  member = '',
  reason: MonitorFinding['reason'] = 'UnsafeSelector',
): MonitorFinding | null {
  for (const [i, value] of (values ?? []).entries()) {
    const wrong = check(value);
    if (wrong) {
      return { reason, message: `${field}[${i}]${member}: ${JSON.stringify(value.slice(0, 80))} ${wrong}` };
    }
  }
  return null;
}
