import type { TrafficMonitor, TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { builtinLimits } from '../../capture-config.ts';
import { normalisePorts, portRanges, portsText, type PortRange } from '../../ports.ts';
import { judgeMonitors, judgePolicies, policiesInForce, type Judged } from '../check/acceptance.ts';
import { podMismatch } from '../check/pod-mismatch.ts';
import { exclusionsIn, exclusionsOf, type PodExclusion } from './exclusions.ts';
import { matchPods } from './pods.ts';
import { compareMonitors, objectPath } from './precedence.ts';
import { baseOf, policiesOf } from './scope.ts';
import { matchesSelector } from './selector.ts';
import { mergeLeaves, type LeafValue, type PolicyInForce } from '../settings.ts';
import type { CompileInput, PodFacts } from '../types.ts';

/** Every setting that decides whether and how one pod is captured, with the object that each comes from. */
export interface PodView {
  /** Names of the policies that apply to the pod's node and namespace, the strongest first. */
  policies: readonly string[];
  /** The other policies, and why they do not apply. */
  otherPolicies: readonly { name: string; why: string }[];
  /** The policy that pauses the capture of the pod, if any. */
  pausedBy: string | null;
  /**
   * The rule for pods without a monitor; `ports` as text, null for any port. `by` is a policy, or null for built-in.
   */
  base: { mode: 'ByPort' | 'All' | 'AllowList'; ports: string | null; by: string | null };
  /** The exclusions of the pod, and of some of its processes. */
  exclusions: readonly PodExclusion[];
  /** Monitors in force that select the pod, the strongest first. */
  monitors: readonly { path: string; ports: string | null }[];
  /**
   * The other capturing monitors of the pod's namespace: they do not select it, are suspended or are not accepted.
   * `selects` is true for a monitor that matches the pod all the same.
   */
  otherMonitors: readonly { path: string; why: string; selects: boolean }[];
  /**
   * The port ranges captured for this pod, as text: those of the base and of its monitors; null for any port, empty
   * while capture is paused.
   */
  ports: string | null;
  /** The shared settings that apply to the pod, each with the layer that it comes from. */
  settings: readonly PodSetting[];
}

/** One setting of a pod. `from` names the object, and for a policy whether it overrides or fills in. */
export interface PodSetting {
  path: string;
  /** Undefined when the value is built in and means all, none or the node's setting. */
  value: unknown;
  from: string;
}

/** The settings that are the same for all of these pods. Pure. */
export function commonSettings(pods: readonly Pick<PodView, 'settings'>[]): PodSetting[] {
  const settingsOf = pods.map(({ settings }) => new Set(settings.map((setting) => JSON.stringify(setting))));
  return (pods[0]?.settings ?? []).filter((setting) => settingsOf.every((of) => of.has(JSON.stringify(setting))));
}

/**
 * The settings and objects that decide how one pod is captured, by the same rules as `compile`. Pure; `pod` need not be
 * among the pods of the input.
 * Errors: ERR_CONFIG_INVALID for the environment.
 */
export function podView(input: CompileInput, pod: PodFacts): PodView {
  const judgedPolicies = judgePolicies(input.policies, input.environment);
  const inForce = policiesInForce(judgedPolicies);
  const nodeLabels = input.nodes.find((n) => n.name === pod.nodeName)?.labels ?? {};
  const namespace = input.namespaces.find((n) => n.name === pod.namespace) ?? { name: pod.namespace, labels: {} };
  const onNode = inForce.filter((p) => matchesSelector(p.spec.nodeSelector, nodeLabels));
  const covering = policiesOf(onNode, namespace.labels);
  const base = baseOf(covering, input.environment);
  const all = judgeMonitors(input.monitors, inForce, input.namespaces);
  const own = all.filter((m) => m.object.metadata.namespace === pod.namespace);
  const ownInForce = own.flatMap(({ object, inForce: spec }) =>
    spec ? [{ key: objectPath(object.metadata), spec }] : [],
  );
  const selecting = own
    .flatMap((m) =>
      m.inForce && isCapturing(m.inForce) && selects(m.inForce, pod)
        ? [{ metadata: m.object.metadata, spec: m.inForce }]
        : [],
    )
    .toSorted(compareMonitors);
  const monitors = selecting.map(({ metadata, spec }) => ({
    path: objectPath(metadata),
    ports: spec.ports ? portsText(portRanges(spec.ports)) : null,
  }));
  const strongest = selecting[0];
  const leaves = mergeLeaves(covering, strongest?.spec ?? {});
  return {
    policies: covering.map((p) => p.name),
    otherPolicies: judgedPolicies.flatMap(({ object, inForce: spec, accepted }) => {
      const name = object.metadata.name ?? '';
      if (covering.some((p) => p.name === name)) return [];
      if (!spec) return [{ name, why: `is not accepted: ${accepted.message}` }];
      if (!onNode.some((p) => p.name === name)) return [{ name, why: `nodeSelector leaves out node ${pod.nodeName}` }];
      return [{ name, why: `namespaceSelector leaves out namespace ${pod.namespace}` }];
    }),
    pausedBy: base.pausedBy,
    base: {
      mode: base.mode,
      ports: base.mode === 'ByPort' ? portsText(base.ports) : null,
      by: covering.find(({ spec: { capture } }) => capture?.[base.mode === 'ByPort' ? 'ports' : 'mode'])?.name ?? null,
    },
    exclusions: exclusionsOf(pod, exclusionsIn(namespace, onNode, ownInForce, input.environment)),
    monitors,
    otherMonitors: own.flatMap((m) => otherMonitor(m, pod)),
    ports: listedPorts(
      base,
      selecting.map(({ spec }) => spec),
    ),
    settings: [
      ...leaves.map((leaf) => settingOf(leaf, strongest && objectPath(strongest.metadata))),
      seriesLimit(strongest && { path: objectPath(strongest.metadata), spec: strongest.spec }, covering),
    ],
  };
}

const isCapturing = (spec: TrafficMonitorSpec): boolean => spec.mode !== 'Exclude' && !spec.suspend;
const selects = (spec: TrafficMonitorSpec, pod: PodFacts): boolean => matchPods(spec, [pod]).length > 0;

function otherMonitor({ object, accepted, inForce: spec }: Judged<TrafficMonitor>, pod: PodFacts) {
  const path = objectPath(object.metadata);
  const of = spec ?? object.spec;
  const why = podMismatch(of, pod);
  if (of.mode === 'Exclude') return [];
  if (why !== null) return [{ path, why, selects: false }];
  if (!spec) return [{ path, why: `is not accepted: ${accepted.message}`, selects: true }];
  return spec.suspend ? [{ path, why: 'is suspended', selects: true }] : [];
}

function listedPorts(
  base: { mode: string; ports: readonly PortRange[]; pausedBy: string | null },
  monitors: readonly TrafficMonitorSpec[],
): string | null {
  if (base.pausedBy !== null) return '';
  if (base.mode === 'All' || monitors.some((spec) => !spec.ports)) return null;
  const own = monitors.flatMap((spec) => portRanges(spec.ports ?? []));
  return portsText(normalisePorts([...(base.mode === 'ByPort' ? base.ports : []), ...own]));
}

function settingOf(leaf: LeafValue, monitor: string | undefined): PodSetting {
  const from = {
    override: `ClusterTrafficPolicy/${leaf.policy} (overrides)`,
    monitor: `TrafficMonitor/${monitor}`,
    default: `ClusterTrafficPolicy/${leaf.policy} (defaults)`,
    builtin: 'built-in',
  };
  return { path: leaf.path, value: leaf.value, from: from[leaf.layer] };
}

/**
 * The limit of series: the smallest of the monitor's own limit and the limits of the policies. The built-in limit
 * counts, too, unless a policy of all namespaces sets one.
 */
function seriesLimit(
  monitor: { path: string; spec: TrafficMonitorSpec } | undefined,
  policies: readonly PolicyInForce[],
): PodSetting {
  const path = 'limits.maxSeries';
  const ceilings = policies.flatMap((p): PodSetting[] => {
    const value = p.spec.limits?.maxSeriesPerMonitor;
    return value === undefined ? [] : [{ path, value, from: `ClusterTrafficPolicy/${p.name} (limits)` }];
  });
  const builtin: PodSetting = { path, value: builtinLimits.maxSeriesPerMonitor, from: 'built-in' };
  const asked = monitor?.spec.limits?.maxSeries;
  const own: PodSetting[] =
    asked === undefined ? [] : [{ path, value: asked, from: `TrafficMonitor/${monitor!.path}` }];
  const isSet = policies.some(({ spec }) => !spec.namespaceSelector && spec.limits?.maxSeriesPerMonitor !== undefined);
  const all = [...ceilings, ...(isSet ? [] : [builtin]), ...own];
  return all.reduce((least, one) => (Number(one.value) < Number(least.value) ? one : least));
}
