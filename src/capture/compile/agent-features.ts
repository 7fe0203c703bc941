import type { ClusterTrafficPolicySpec, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import type { CaptureMonitorRule } from '../capture-config.ts';

/**
 * What the agents of this release do not do with a config yet. Two kinds: where data would be missing or a ceiling
 * would not hold, the object is refused; where an agent merely keeps more than was asked for, the object is accepted
 * and its Accepted condition says so. As an agent learns a rule, its line here goes.
 */
export function refusedOfMonitor(spec: TrafficMonitorSpec): string | null {
  if ((spec.metrics?.labels?.podLabels?.length ?? 0) > 0) return 'spec.metrics.labels.podLabels';
  if (spec.limits?.maxSpansPerSecond !== undefined) return 'spec.limits.maxSpansPerSecond';
  return null;
}

export function refusedOfPolicy(spec: ClusterTrafficPolicySpec): string | null {
  for (const layer of ['defaults', 'overrides'] as const) {
    if ((spec[layer]?.metrics?.labels?.podLabels?.length ?? 0) > 0) return `spec.${layer}.metrics.labels.podLabels`;
  }
  return spec.limits?.maxSpansPerSecondPerNode === undefined ? null : 'spec.limits.maxSpansPerSecondPerNode';
}

/** Sentences on what of a rule is kept too widely. `narrowed`: the node captures protocols that this rule leaves out. */
export function keptTooWidely(rule: Omit<CaptureMonitorRule, 'pods'>, narrowed: boolean): string[] {
  return [
    ...(rule.tail ? ['sampling.keepErrors and keepSlowerThan: the agents keep every span for now'] : []),
    ...(rule.intervalMs ? ['metrics.interval: other objects ask for a shorter one, which holds for now'] : []),
    ...(rule.protocols && narrowed ? ['protocols: those of other objects on the node are kept too for now'] : []),
  ];
}
