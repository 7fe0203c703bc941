import type { ClusterTrafficPolicy, TrafficMonitor, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import type { Judged } from './check/acceptance.ts';
import { autoscalingConflict, monitorConflict, policyConflicts } from './check/conflicts.ts';
import type { GroupPlan, MonitorInForce, MonitorPlan } from './group.ts';
import type { Memo } from './memo.ts';
import { flowsOf } from './node-wide.ts';
import { objectPath } from './select/precedence.ts';
import { sortedSet, type PolicyInForce } from './settings.ts';
import type { Conflict, ExportOutcome, MonitorOutcome, NamedLabels, PodFacts, PolicyOutcome } from './types.ts';

export interface Group {
  /** Its key in the memo. */
  owner: object;
  policies: readonly PolicyInForce[];
  plan: GroupPlan;
  nodes: NamedLabels[];
}

/** The outcome of the compile for each monitor's status. */
export function monitorOutcomes(input: OutcomeInput): Map<string, MonitorOutcome> {
  const { judged, matched, groups, memo } = input;
  const members = groups.flatMap((g) => [g.owner, ...g.nodes]);
  // The same nodes in the same groups: results that depend on membership alone stay valid.
  const membership = memo.cell(memo.owner('root'), 'membership', members, () => ({}));
  const groupOfNode = new Map(groups.flatMap((g) => g.nodes.map((n) => [n.name, g] as const)));
  const conflicts = sharedPodConflicts(input, groupOfNode, membership);
  const result = new Map<string, MonitorOutcome>();
  for (const verdict of judged) {
    const key = objectPath(verdict.object.metadata);
    const [pods, lost] = [matched.get(key) ?? noPods, conflicts.get(key) ?? noConflicts];
    const plans = groups.flatMap((g) => [g.plan.monitors.get(key), g.plan.exportIntervalMs]);
    const make = (): MonitorOutcome => outcomeOf(verdict, pods, lost, groups, groupOfNode);
    result.set(key, memo.cell(verdict.object, 'outcome', [verdict, pods, lost, membership, ...plans], make));
  }
  return result;
}

export interface OutcomeInput {
  judged: readonly Judged<TrafficMonitor>[];
  inForce: readonly MonitorInForce[];
  matched: ReadonlyMap<string, readonly PodFacts[]>;
  groups: readonly Group[];
  memo: Memo;
}

const noPods: readonly PodFacts[] = [];
const noConflicts: readonly Conflict[] = [];

function outcomeOf(
  { object, accepted, inForce: spec }: Judged<TrafficMonitor>,
  pods: readonly PodFacts[],
  lost: readonly Conflict[],
  groups: readonly Group[],
  groupOfNode: ReadonlyMap<string, Group>,
): MonitorOutcome {
  const key = objectPath(object.metadata);
  const nodes = sortedSet(pods.map((p) => p.nodeName)).filter((n) => groupOfNode.has(n));
  const own = nodes.length > 0 ? [...new Set(nodes.map((n) => groupOfNode.get(n)!))] : groups;
  const plans = spec ? own.map((g) => g.plan.monitors.get(key)!) : [];
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    uid: object.metadata.uid ?? '',
    generation: object.metadata.generation ?? 0,
    accepted: withNotes(accepted, plans, spec),
    inForce: spec,
    matchedPods: pods.length,
    nodes,
    ...(plans.length > 0 ? { configHash: `sha256:${sha256Hex(canonicalJson(plans.map((p) => p.digest)))}` } : {}),
    suspended: spec?.suspend ?? false,
    ...pausedBy(plans),
    policyRefs: [...new Set(plans.flatMap((p) => p.policies.map((q) => q.name)))],
    overriddenFields: sortedSet(
      plans.flatMap((p) => p.leaves.filter((leaf) => leaf.layer === 'override').map((leaf) => leaf.path)),
    ),
    conflicts: mergeConflicts([...plans.flatMap(policyConflicts), ...lost]),
    exports: mergeExports(plans),
    intervalMs: Math.max(0, ...own.map((g) => g.plan.monitors.get(key)?.rule?.intervalMs ?? g.plan.exportIntervalMs)),
  };
}

/** What the instrument cannot do for gRPC, up to v0.12. The status says so to users who ask for gRPC by name. */
export const grpcNote =
  'gRPC: every call counts with the status OK, and calls on connections that are open while the instrument restarts are partly missed';

/** The condition of an accepted monitor: which values were lowered, and which requests are met only in part. */
function withNotes(
  accepted: MonitorOutcome['accepted'],
  plans: readonly MonitorPlan[],
  spec: TrafficMonitorSpec | null,
): MonitorOutcome['accepted'] {
  if (!accepted.ok) return accepted;
  const clamped = plans.flatMap((p) => p.clamped ?? []);
  const grpc = spec?.protocols?.includes('GRPC') ? [grpcNote] : [];
  const message = [...new Set([...clamped, ...grpc])].join('; ');
  return { ok: true, reason: clamped.length > 0 ? 'LimitClamped' : 'Accepted', message };
}

function pausedBy(plans: readonly MonitorPlan[]): { pausedBy?: string } {
  const names = plans.flatMap((p) => p.pausedBy ?? []);
  return plans.length > 0 && names.length === plans.length ? { pausedBy: names[0]! } : {};
}

/** Each destination once; a destination that one group of nodes refuses is refused. */
function mergeExports(plans: readonly MonitorPlan[]): ExportOutcome[] {
  const rows = new Map<string, ExportOutcome>();
  for (const row of plans.flatMap((p) => p.exports)) {
    const known = rows.get(row.name);
    rows.set(row.name, known ? { ...known, allowed: known.allowed && row.allowed } : row);
  }
  return [...rows.values()];
}

/** For every pair of monitors that share a pod (or an autoscaling metric), the values that the weaker one loses. */
function sharedPodConflicts(
  { inForce, matched, groups, memo }: OutcomeInput,
  groupOfNode: ReadonlyMap<string, Group>,
  membership: object,
): Map<string, Conflict[]> {
  const byNamespace = Map.groupBy(
    inForce.filter((m) => m.spec.mode !== 'Exclude' && !m.spec.suspend),
    (m) => m.object.metadata.namespace ?? '',
  );
  const found = [...byNamespace].flatMap(([namespace, monitors]) => {
    const each = monitors.flatMap((m) => [m, matched.get(m.key), ...groups.map((g) => g.plan.monitors.get(m.key))]);
    return memo.cell(memo.owner(`namespace ${namespace}`), 'conflicts', [membership, ...each], () => [
      ...namespaceConflicts(monitors, matched, groupOfNode),
    ]);
  });
  return new Map(found);
}

function namespaceConflicts(
  monitors: readonly MonitorInForce[],
  matched: ReadonlyMap<string, readonly PodFacts[]>,
  groupOfNode: ReadonlyMap<string, Group>,
): Map<string, Conflict[]> {
  const found = new Map<string, Conflict[]>();
  const add = (loser: MonitorInForce, conflict: Conflict | null): void => {
    if (conflict) found.set(loser.key, [...(found.get(loser.key) ?? []), conflict]);
  };
  for (const [i, winner] of monitors.entries()) {
    const pods = new Map((matched.get(winner.key) ?? []).map((p) => [p.name, p]));
    for (const loser of monitors.slice(i + 1)) {
      add(loser, autoscalingConflict(winner, loser));
      const shared = (matched.get(loser.key) ?? []).find((p) => pods.has(p.name) && groupOfNode.has(p.nodeName));
      if (!shared) continue;
      add(loser, monitorConflict(winner, loser, groupOfNode.get(shared.nodeName)!.plan.monitors));
    }
  }
  return found;
}

/** One row per conflicting monitor. */
function mergeConflicts(conflicts: readonly Conflict[]): Conflict[] {
  const rows = new Map<string, Conflict>();
  for (const c of conflicts) {
    const row = rows.get(c.with);
    rows.set(c.with, row ? { ...row, fields: sortedSet([...row.fields, ...c.fields]) } : c);
  }
  return [...rows.values()];
}

function flowsInScope(groups: readonly Group[]): PolicyOutcome['flows'] {
  const states = new Set(groups.map((g) => flowsOf(g.policies)));
  if (states.has('Enabled') && states.size > 1) return 'PartlyEnabled';
  return [...states][0] ?? 'NotEnabled';
}

/** The outcome of the compile for each policy's status. */
export function policyOutcomes(
  judged: readonly Judged<ClusterTrafficPolicy>[],
  monitors: ReadonlyMap<string, MonitorOutcome>,
  groups: readonly Group[],
): Map<string, PolicyOutcome> {
  const result = new Map<string, PolicyOutcome>();
  for (const { object, accepted, inForce } of judged) {
    const name = object.metadata.name ?? '';
    const own = groups.filter((g) => g.policies.some((p) => p.name === name));
    const inScope = [...monitors.values()].filter((m) => m.policyRefs.includes(name) || (!m.inForce && inForce));
    result.set(name, {
      name,
      uid: object.metadata.uid ?? '',
      generation: object.metadata.generation ?? 0,
      accepted,
      inForce,
      nodes: sortedSet(own.flatMap((g) => g.nodes.map((n) => n.name))),
      ...(own.length > 0
        ? {
            configHash: `sha256:${sha256Hex(
              canonicalJson(own.map((g) => [g.plan.yamlHash, g.plan.limits, g.plan.retention, g.plan.fallback])),
            )}`,
          }
        : {}),
      flows: flowsInScope(own),
      monitors: {
        accepted: inScope.filter((m) => m.accepted.ok).length,
        rejected: inScope.filter((m) => !m.accepted.ok).length,
        conflicted: inScope.filter((m) => m.conflicts.length > 0).length,
      },
    });
  }
  return result;
}
