import type { MonitorInForce, MonitorPlan } from '../group.ts';
import { specificity } from '../select/precedence.ts';
import { isSameValue } from '../settings.ts';
import type { Conflict } from '../types.ts';

/** Fields of which only one monitor's value can apply to a pod. Fields that are sets are united and never conflict. */
const scalarLeaves = new Set([
  'signals.metrics',
  'signals.spans',
  'sampling.ratio',
  'sampling.parentBased',
  'sampling.keepErrors',
  'sampling.keepSlowerThan',
  'metrics.interval',
]);

/** The values that the weaker of two monitors on one pod loses; null when it loses none. */
export function monitorConflict(
  winner: MonitorInForce,
  loser: MonitorInForce,
  plans: ReadonlyMap<string, MonitorPlan>,
): Conflict | null {
  const [w, l] = [plans.get(winner.key)!, plans.get(loser.key)!];
  const fields = l.leaves
    .filter((leaf) => leaf.layer === 'monitor' && scalarLeaves.has(leaf.path))
    .filter((leaf) => {
      const other = w.leaves.find((o) => o.path === leaf.path);
      return !isSameValue(leaf.path, other?.value, leaf.value);
    })
    .map((leaf) => leaf.path);
  if (fields.length === 0) return null;
  return { with: `TrafficMonitor/${winner.key}`, fields, resolution: decidedBy(winner, loser) };
}

/** The autoscaling metrics that two monitors of one namespace both offer; null when there is none. */
export function autoscalingConflict(winner: MonitorInForce, loser: MonitorInForce): Conflict | null {
  const taken = new Set((winner.spec.autoscaling?.metrics ?? []).map((m) => `${m.resource}/${m.name}`));
  const fields = (loser.spec.autoscaling?.metrics ?? [])
    .filter((m) => taken.has(`${m.resource}/${m.name}`))
    .map((m) => `autoscaling.metrics[${m.name}]`);
  if (fields.length === 0) return null;
  return { with: `TrafficMonitor/${winner.key}`, fields, resolution: decidedBy(winner, loser) };
}

/** The values of this monitor that were replaced by the overrides of policies. */
export function policyConflicts(plan: MonitorPlan): Conflict[] {
  const byPolicy = new Map<string, string[]>();
  for (const leaf of plan.leaves) {
    if (!leaf.replaced || !leaf.policy) continue;
    byPolicy.set(leaf.policy, [...(byPolicy.get(leaf.policy) ?? []), leaf.path]);
  }
  return [...byPolicy].map(([policy, fields]) => ({
    with: `ClusterTrafficPolicy/${policy}`,
    fields,
    resolution: 'overrides of a policy replace what a monitor sets',
  }));
}

function decidedBy(winner: MonitorInForce, loser: MonitorInForce): string {
  const name = winner.key;
  if ((winner.spec.priority ?? 0) !== (loser.spec.priority ?? 0)) return `${name} has the higher priority`;
  if (specificity(winner.spec) !== specificity(loser.spec)) return `${name} selects more specifically`;
  if (winner.object.metadata.creationTimestamp !== loser.object.metadata.creationTimestamp) return `${name} is older`;
  return `${name} comes first by name`;
}
