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
  textFault,
  withinUnits,
} from './text-checks.ts';
import type { MonitorFinding } from '../types.ts';

/**
 * Why a spec cannot be compiled: the first fault in the order below, or null. The API server has already applied the
 * schema and its CEL rules. These checks cover what the schema cannot express. They also repeat what the schema checks
 * to protect the instrument, in case the schema has a gap.
 */
export function monitorFinding(spec: TrafficMonitorSpec): MonitorFinding | null {
  const { selector, workloads, ports, containers, metrics, sampling, http } = spec;
  const durations = {
    'spec.metrics.interval': metrics?.interval,
    'spec.sampling.keepSlowerThan': sampling?.keepSlowerThan,
  };
  const names = workloads?.map(({ name }) => name);
  return (
    finding(
      'Invalid',
      selector || workloads || ports ? null : 'spec: select something; use selector: {} for the whole namespace',
    ) ??
    finding('UnsupportedSelector', unsupportedOperator(spec)) ??
    finding('UnsafeSelector', selectorFault(spec)) ??
    finding('UnsafeSelector', textFault('spec.workloads', names, globText, '.name')) ??
    finding('UnsafeSelector', textFault('spec.containers.include', containers?.include, globText)) ??
    finding('Invalid', textFault('spec.http.routes', http?.routes, routeText)) ??
    finding('Invalid', textFault('spec.metrics.labels.podLabels', metrics?.labels?.podLabels, labelKeyText)) ??
    finding('Invalid', textFault('spec.metrics.labels.exclude', metrics?.labels?.exclude, droppableText)) ??
    finding('Invalid', durationFault(durations, longestInterval)) ??
    finding('Invalid', exportFault(spec.export)) ??
    finding('Invalid', textFault('spec.http.headers.capture', http?.headers?.capture, headerText)) ??
    finding('Invalid', textFault('spec.http.ignorePaths', http?.ignorePaths, withinUnits(256))) ??
    finding('Invalid', exportLengthFault(spec.export))
  );
}

function exportLengthFault(list: TrafficMonitorSpec['export'] = []): string | null {
  const endpoints = list.map(({ endpoint }) => endpoint);
  const ofLabels = list.map(({ labels }, i) =>
    textFault(`spec.export[${i}].labels`, Object.values(labels ?? {}), withinUnits(256)),
  );
  return (
    textFault('spec.export', endpoints, withinUnits(512), '.endpoint') ??
    ofLabels.find((fault) => fault !== null) ??
    null
  );
}

function finding(reason: MonitorFinding['reason'], message: string | null): MonitorFinding | null {
  return message === null ? null : { reason, message };
}

function unsupportedOperator({ selector }: TrafficMonitorSpec): string | null {
  const bad = selector?.matchExpressions?.find((e) => e.operator !== 'In' && e.operator !== 'Exists');
  return bad ? `spec.selector: ${bad.operator} is unsupported; use a second monitor with mode: Exclude` : null;
}

function selectorFault({ selector }: TrafficMonitorSpec): string | null {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const empty = matchExpressions.find((e) => e.operator === 'In' && (e.values ?? []).length === 0);
  if (empty) return `spec.selector: In for ${empty.key} needs a value`;
  const [labels, expressions] = ['spec.selector.matchLabels', 'spec.selector.matchExpressions'];
  const keys = matchExpressions.map((e) => e.key);
  const values = matchExpressions.flatMap((e) => e.values ?? []);
  return (
    textFault(labels, Object.keys(matchLabels), labelKeyText) ??
    textFault(labels, Object.values(matchLabels), labelValueText) ??
    textFault(expressions, keys, labelKeyText, '.key') ??
    textFault(expressions, values, labelValueText, '.values')
  );
}
