import type { ClusterTrafficPolicy, TrafficMonitor, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import { appendTo } from '../../base/collections/counts.ts';
import type { Judged } from './check/acceptance.ts';
import { autoscalingConflict, monitorConflict, policyConflicts } from './check/conflicts.ts';
import type { Group, MonitorInForce, MonitorPlan, NamespaceMonitors, NamespacePlan } from './group.ts';
import { flowsOf } from './node-wide.ts';
import { exclusionsOf, wholeExclusion } from './select/exclusions.ts';
import { objectPath } from './select/precedence.ts';
import { policiesOf } from './select/scope.ts';
import { sortedSet } from './settings.ts';
import type { Conflict, ExportOutcome, MonitorOutcome, NamedLabels, PodFacts, PolicyOutcome } from './types.ts';

/** The monitors of one namespace on all nodes. */
export interface OutcomeInput {
  monitors: NamespaceMonitors;
  /** Path of a monitor → the pods that it selects. */
  matched: ReadonlyMap<string, readonly PodFacts[]>;
  /** Name of a node → the position in `plans` of its group. A group is the nodes with the same policies. */
  groupOf: ReadonlyMap<string, number>;
  /** What is planned for the namespace's monitors, for each group of nodes. */
  plans: readonly NamespacePlan[];
}

/** The outcome of the compile for each monitor's status, in one namespace. */
export function monitorOutcomes(input: OutcomeInput): [string, MonitorOutcome][] {
  const conflicts = sharedPodConflicts(input);
  const excluders = podExcluders(input);
  return input.monitors.judged.map((verdict) => {
    const key = objectPath(verdict.object.metadata);
    const pods = input.matched.get(key) ?? [];
    const outcome = outcomeOf(verdict, pods, conflicts.get(key) ?? [], input);
    return [key, { ...outcome, ...excludedOf(pods, excluders) }];
  });
}

/** Each matched pod that is excluded as a whole → what excludes it. */
function podExcluders({ matched, groupOf, plans }: OutcomeInput): Map<PodFacts, string> {
  const found = new Map<PodFacts, string>();
  if (plans.every(({ excluded }) => excluded.length === 0)) return found;
  for (const pod of new Set([...matched.values()].flat())) {
    const group = groupOf.get(pod.nodeName);
    const whole = group === undefined ? undefined : wholeExclusion(exclusionsOf(pod, plans[group]!.excluded));
    if (whole) found.set(pod, whole.by);
  }
  return found;
}

function excludedOf(
  pods: readonly PodFacts[],
  excluders: ReadonlyMap<PodFacts, string>,
): Pick<MonitorOutcome, 'excluded'> {
  const by = pods.flatMap((pod) => excluders.get(pod) ?? []);
  return by.length > 0 ? { excluded: { pods: by.length, by: sortedSet(by) } } : {};
}

function outcomeOf(
  { object, accepted, inForce: spec }: Judged<TrafficMonitor>,
  pods: readonly PodFacts[],
  lost: readonly Conflict[],
  { groupOf, plans: all }: Pick<OutcomeInput, 'groupOf' | 'plans'>,
): MonitorOutcome {
  const key = objectPath(object.metadata);
  const nodes = sortedSet(pods.map((p) => p.nodeName)).filter((n) => groupOf.has(n));
  const own = nodes.length > 0 ? [...new Set(nodes.map((n) => all[groupOf.get(n)!]!))] : all;
  const plans = spec ? own.map((g) => g.monitors.get(key)!) : [];
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    uid: object.metadata.uid ?? '',
    generation: object.metadata.generation ?? 0,
    accepted: withNotes(accepted, plans, spec),
    inForce: spec,
    matchedPods: pods.length,
    nodes,
    ...(plans.length > 0 ? { configHash: hashOf(plans) } : {}),
    suspended: spec?.suspend ?? false,
    ...pausedBy(plans),
    policyRefs: [...new Set(plans.flatMap((p) => p.policies.map((q) => q.name)))],
    overriddenFields: sortedSet(
      plans.flatMap((p) => p.leaves.filter((leaf) => leaf.layer === 'override').map((leaf) => leaf.path)),
    ),
    conflicts: mergeConflicts([...plans.flatMap(policyConflicts), ...lost]),
    exports: mergeExports(plans),
    intervalMs: Math.max(0, ...own.map((g) => g.monitors.get(key)?.rule?.intervalMs ?? g.exportIntervalMs)),
  };
}

/** One hash of several digests. Their order, and how often each occurs, does not matter. */
function hashOf(parts: readonly { digest: string }[]): string {
  return `sha256:${sha256Hex(canonicalJson(sortedSet(parts.map(({ digest }) => digest))))}`;
}

/**
 * The limits of the instrument for gRPC, up to v0.12. The status reports them for monitors that name the protocol GRPC.
 */
export const grpcNote =
  'gRPC: every call counts with the status OK, and calls on connections that are open while the instrument restarts are partly missed';

/** The condition Accepted, with a note for each lowered value, and one on gRPC if the monitor names that protocol. */
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
function sharedPodConflicts(input: OutcomeInput): Map<string, Conflict[]> {
  const { monitors, matched } = input;
  const capturing = monitors.inForce.filter((m) => m.spec.mode !== 'Exclude' && !m.spec.suspend);
  const found = new Map<string, Conflict[]>();
  const add = (loser: MonitorInForce, conflict: Conflict | null): void => {
    if (conflict) appendTo(found, loser.key, conflict);
  };
  for (const [i, winner] of capturing.entries()) {
    const pods = new Set(matched.get(winner.key)!.map((p) => p.name));
    for (const loser of capturing.slice(i + 1)) {
      add(loser, autoscalingConflict(winner, loser));
      for (const group of sharedGroups(pods, matched.get(loser.key)!, input)) {
        add(loser, monitorConflict(winner, loser, input.plans[group]!.monitors));
      }
    }
  }
  return found;
}

/**
 * The groups of nodes on which a pod runs that both monitors select. The policies of each group decide which values the
 * two monitors have there.
 * Cost: once every group is found, the other pods are not looked at.
 */
function sharedGroups(
  names: ReadonlySet<string>,
  pods: readonly PodFacts[],
  { groupOf, plans }: Pick<OutcomeInput, 'groupOf' | 'plans'>,
): Set<number> {
  const found = new Set<number>();
  for (const { name, nodeName } of pods) {
    if (found.size === plans.length) break;
    const group = groupOf.get(nodeName);
    if (group !== undefined && names.has(name)) found.add(group);
  }
  return found;
}

/** One row per conflicting object. */
function mergeConflicts(conflicts: readonly Conflict[]): Conflict[] {
  const rows = new Map<string, Conflict>();
  for (const c of conflicts) {
    const row = rows.get(c.with);
    rows.set(c.with, row ? { ...row, fields: sortedSet([...row.fields, ...c.fields]) } : c);
  }
  return [...rows.values()];
}

/** `groups` are those of the nodes in scope of a policy that is in force. */
function flowsInScope(groups: readonly Group[]): PolicyOutcome['flows'] {
  const states = new Set(groups.map((g) => flowsOf(g.policies)));
  if (states.has('Enabled') && states.size > 1) return 'PartlyEnabled';
  return [...states][0] ?? 'NoNodes';
}

/** The outcome of the compile for each policy's status. */
export function policyOutcomes(
  judged: readonly Judged<ClusterTrafficPolicy>[],
  monitors: ReadonlyMap<string, MonitorOutcome>,
  groups: readonly (Group & { digest: string })[],
  namespaces: ReadonlyMap<string, NamedLabels>,
): Map<string, PolicyOutcome> {
  const result = new Map<string, PolicyOutcome>();
  for (const { object, accepted, inForce } of judged) {
    const name = object.metadata.name ?? '';
    const own = groups.filter((g) => g.policies.some((p) => p.name === name));
    // A monitor without a spec in force is on no node, and counts wherever the policy covers its namespace.
    const covers = (namespace: string): boolean =>
      inForce !== null &&
      own.length > 0 &&
      policiesOf([{ name, spec: inForce }], namespaces.get(namespace)?.labels ?? {}).length > 0;
    const inScope = [...monitors.values()].filter((m) =>
      m.inForce ? m.policyRefs.includes(name) : covers(m.namespace),
    );
    result.set(name, {
      name,
      uid: object.metadata.uid ?? '',
      generation: object.metadata.generation ?? 0,
      accepted,
      inForce,
      nodes: sortedSet(own.flatMap((g) => g.nodes.map((n) => n.name))),
      ...(own.length > 0 ? { configHash: hashOf(own) } : {}),
      flows: inForce ? flowsInScope(own) : 'NotInForce',
      monitors: {
        accepted: inScope.filter((m) => m.accepted.ok).length,
        rejected: inScope.filter((m) => !m.accepted.ok).length,
        conflicted: inScope.filter((m) => m.conflicts.length > 0).length,
      },
    });
  }
  return result;
}
