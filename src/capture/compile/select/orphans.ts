import type { ClusterTrafficPolicy, TrafficMonitor, TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { judgeMonitors, judgePolicies, policiesInForce } from '../check/acceptance.ts';
import { objectPath } from './precedence.ts';
import { policiesOf } from './scope.ts';
import { matchesSelector } from './selector.ts';
import { mergeLeaves, type LeafValue, type PolicyInForce } from '../settings.ts';
import type { CompileEnvironment, NamedLabels } from '../types.ts';

/** The objects of the API that decide which monitors capture. */
export interface CaptureObjects {
  policies: readonly ClusterTrafficPolicy[];
  monitors: readonly TrafficMonitor[];
  namespaces: readonly NamedLabels[];
  nodes: readonly NamedLabels[];
  environment: Pick<CompileEnvironment, 'instrumentVersion' | 'allowExtraConfig'>;
}

/** A monitor that would capture nothing any more, and why. */
export interface Orphan {
  /** `namespace/name`. */
  monitor: string;
  reason: string;
}

/**
 * The monitors that capture something under the present policies and would capture nothing anywhere if `candidate`
 * replaced the policy of the same name. Sorted. Pure.
 * A monitor captures nothing when no policy lets its namespace have it, or when overrides on every node switch off all
 * its signals or leave none of the protocols or metric families it names. Ports, pods and traffic are ignored, and so
 * is `paused`, which stops everything on purpose.
 */
export function orphanedMonitors(objects: CaptureObjects, candidate: ClusterTrafficPolicy): Orphan[] {
  const others = objects.policies.filter((p) => p.metadata.name !== candidate.metadata.name);
  const before = silenced(objects, objects.policies);
  return [...silenced(objects, [...others, candidate])]
    .filter(([monitor]) => !before.has(monitor))
    .map(([monitor, reason]) => ({ monitor, reason }))
    .toSorted((a, b) => (a.monitor < b.monitor ? -1 : 1));
}

/** Why monitors capture nothing under the present policies, by `namespace/name`. See `orphanedMonitors`. Pure. */
export function silencedMonitors(objects: CaptureObjects): ReadonlyMap<string, string> {
  return silenced(objects, objects.policies);
}

/**
 * Why monitors capture nothing under these policies. Monitors with the mode Exclude and suspended monitors are left
 * out.
 */
function silenced(objects: CaptureObjects, policies: readonly ClusterTrafficPolicy[]): Map<string, string> {
  const inForce = policiesInForce(judgePolicies(policies, objects.environment));
  const labels = new Map(objects.namespaces.map((ns) => [ns.name, ns.labels]));
  const groups = coveringSets(inForce, objects.nodes);
  const found = new Map<string, string>();
  for (const { object, accepted, inForce: spec } of judgeMonitors(objects.monitors, inForce, objects.namespaces)) {
    if (!spec) {
      if (accepted.reason === 'NamespaceNotAllowed') found.set(objectPath(object.metadata), accepted.message);
      continue;
    }
    if (spec.mode === 'Exclude' || spec.suspend) continue;
    const here = labels.get(object.metadata.namespace ?? '') ?? {};
    const reasons = groups.map((group) => nothingLeft(mergeLeaves(policiesOf(group, here), spec), spec));
    const [reason] = reasons;
    if (reason && reasons.every((r) => r !== undefined)) found.set(objectPath(object.metadata), reason);
  }
  return found;
}

/** The distinct sets of policies that cover some node; a cluster without nodes counts as one node without labels. */
function coveringSets(policies: readonly PolicyInForce[], nodes: readonly NamedLabels[]): PolicyInForce[][] {
  const sets = new Map<string, PolicyInForce[]>();
  for (const node of nodes.length > 0 ? nodes : [{ name: '', labels: {} }]) {
    const covering = policies.filter((p) => matchesSelector(p.spec.nodeSelector, node.labels));
    sets.set(covering.map((p) => p.name).join('\n'), covering);
  }
  return [...sets.values()];
}

function nothingLeft(leaves: readonly LeafValue[], spec: TrafficMonitorSpec): string | undefined {
  const leaf = (path: string): LeafValue | undefined => leaves.find((l) => l.path === path);
  const metrics = leaf('signals.metrics');
  const spans = leaf('signals.spans');
  const noSpans = spans?.value === 'Disabled';
  const override = [metrics, spans].find((l) => l?.layer === 'override' && l.value === 'Disabled');
  if (metrics?.value === 'Disabled' && noSpans && override) {
    return `overrides of ${override.policy} leave it neither metrics nor spans`;
  }
  const lost = (path: string, asked: readonly string[] | undefined): LeafValue | undefined => {
    const found = leaf(path);
    const left = (found?.value ?? []) as readonly string[];
    return found?.layer === 'override' && asked?.length && !asked.some((x) => left.includes(x)) ? found : undefined;
  };
  const protocols = lost('protocols', spec.protocols);
  if (protocols) return `overrides.protocols of ${protocols.policy} has none of ${spec.protocols!.join(', ')}`;
  const families = noSpans ? lost('metrics.families', spec.metrics?.families) : undefined;
  if (families)
    return `overrides.metrics.families of ${families.policy} has none of ${spec.metrics!.families!.join(', ')}`;
  return undefined;
}
