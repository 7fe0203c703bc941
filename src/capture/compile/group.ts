import type { ClusterTrafficPolicy, TrafficMonitor, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { familyNames } from '../../api/v1alpha1/index.ts';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import type { CaptureConfig, CaptureExportRule, CaptureFallbackRule, CaptureMonitorRule } from '../capture-config.ts';
import type { SharedConfig } from '../config-encoder.ts';
import { builtinTraceInstrumentations, ownNamespace } from '../instrument-yaml/builtin.ts';
import { portRanges, portsText } from '../ports.ts';
import { renderInstrumentYaml } from '../instrument-yaml/render.ts';
import type { DiscoveryEntry, InstrumentSettings, Selection } from '../instrument-yaml/settings.ts';
import { monitorExports, policyExports } from './exports.ts';
import { capturedHeaders } from './headers.ts';
import { generationKey } from './generations.ts';
import { limitsOf, nodeWideSettings, retentionOf, rolloutOf } from './node-wide.ts';
import type { Judged } from './check/acceptance.ts';
import { headerNames, redactionOf } from './check/redaction.ts';
import { namespacesOf, policiesOf, type Base, type BaseScope } from './select/scope.ts';
import { exclusionsIn, type NamedExclusion } from './select/exclusions.ts';
import { distinct, exclusionSelections, mayOverlap, monitorSelections } from './select/selections.ts';
import {
  effectiveSettings,
  mergeLeaves,
  sortedSet,
  type EffectiveSettings,
  type LeafValue,
  type PolicyInForce,
} from './settings.ts';
import type { CompileEnvironment, ExportOutcome, NamedLabels } from './types.ts';

/** A monitor with the spec that is in force: its own, or the last accepted one if its own is refused. */
export interface MonitorInForce {
  key: string;
  object: TrafficMonitor;
  spec: TrafficMonitorSpec;
}

/** The monitors of one namespace, which are the same on every node. */
export interface NamespaceMonitors {
  namespace: NamedLabels;
  judged: readonly Judged<TrafficMonitor>[];
  /** Strongest first. */
  inForce: readonly MonitorInForce[];
}

/** One monitor under the policies of one group of nodes. */
interface Draft {
  monitor: MonitorInForce;
  policies: readonly PolicyInForce[];
  leaves: readonly LeafValue[];
  settings: EffectiveSettings;
  pausedBy: string | null;
  /** True when it captures: it does not exclude, it is not suspended, and no policy pauses it. */
  active: boolean;
}

/** The monitors of one namespace under the policies of one group of nodes. */
export interface Share {
  namespace: string;
  /** Strongest first. */
  drafts: readonly Draft[];
  entries: readonly DiscoveryEntry[];
  exclusions: readonly Selection[];
  /** What is excluded in the namespace, whatever excludes it. */
  excluded: readonly NamedExclusion[];
  /**
   * The largest share of traces that the instrument samples for a monitor of ports; 0 without one. It samples a process
   * by its strongest monitor, on all ports.
   */
  portShare: number;
  /** The names of the headers that spans carry, as the monitors write them. */
  headers: readonly string[];
  generations: CaptureConfig['generations'];
}

/** The values of a group that the rules of its monitors depend on. */
interface Common {
  limits: CaptureConfig['limits'];
  /** Units: ms. */
  exportIntervalMs: number;
  tcpStats: boolean;
}

/** One monitor on the nodes of one group. */
export interface MonitorPlan extends Draft {
  /** Its rule without the names of pods; null when it captures nothing on these nodes. */
  rule: Omit<CaptureMonitorRule, 'pods'> | null;
  clamped: string | null;
  exports: readonly ExportOutcome[];
  /** The allowed destinations of the monitor. They are set also where `rule` is null. */
  exportRules: readonly CaptureExportRule[];
  digest: string;
}

/** The monitors of one namespace on the nodes of one group. */
export interface NamespacePlan {
  /** Units: ms. */
  exportIntervalMs: number;
  /** Hash of the rules of its monitors; null when none has a rule. */
  digest: string | null;
  excluded: readonly NamedExclusion[];
  monitors: ReadonlyMap<string, MonitorPlan>;
}

/** The nodes under the same policies, which share one plan. */
export interface Group {
  /** Strongest first. */
  policies: readonly PolicyInForce[];
  /** Generations of the accepted policies. */
  generations: CaptureConfig['generations'];
  nodes: readonly NamedLabels[];
}

/** The values shared by all nodes of a group. */
export interface GroupPlan {
  /** The part of the config that all nodes of the group share. */
  shared: SharedConfig;
  /** Hash of `shared` without the generations, which change nothing that runs. */
  sharedDigest: string;
  yamlHash: string;
  rollout: ReturnType<typeof rolloutOf>;
  common: Common;
}

export interface GroupInput extends Omit<Group, 'nodes'> {
  environment: CompileEnvironment;
  namespaces: readonly NamedLabels[];
  /** The rules for pods without a monitor, from these policies, in these namespaces. */
  scopes: readonly BaseScope[];
  /** One for each namespace. */
  shares: readonly Share[];
}

/** The demands of one namespace's monitors on a group of nodes. Other namespaces do not affect them. */
export function planShare(
  policies: readonly PolicyInForce[],
  own: NamespaceMonitors,
  environment: CompileEnvironment,
): Share {
  const covering = policiesOf(policies, own.namespace.labels);
  const drafts = own.inForce.map((m) => draft(m, covering));
  const active = drafts.filter((d) => d.active);
  return {
    namespace: own.namespace.name,
    drafts,
    entries: monitorEntries(active),
    exclusions: own.inForce
      .filter((m) => m.spec.mode === 'Exclude' && !m.spec.suspend)
      .flatMap((m) => monitorSelections(namespaceOf(m), m.spec)),
    excluded: exclusionsIn(own.namespace, policies, own.inForce, environment),
    portShare: Math.max(0, ...active.flatMap((d) => (d.monitor.spec.ports ? [shareOf(d.settings)] : []))),
    headers: active.flatMap((d) => d.monitor.spec.http?.headers?.capture ?? []),
    generations: generationsOf(own.judged),
  };
}

/**
 * Compiles the plan of one group of nodes. Nothing in it depends on pods: a pod that comes or goes never restarts
 * capture.
 * Errors: ERR_CAPTURE_INVALID if the instrument would refuse the rendered file, which the checks on each object rule
 * out.
 */
export function planGroup(input: GroupInput): GroupPlan {
  const { environment, policies, namespaces, shares } = input;
  const limits = limitsOf(policies);
  const active = shares.flatMap((s) => s.drafts.filter((d) => d.active));
  const live = input.scopes.filter((s) => isLive(s.base));
  const everyone = [...live.map((s) => s.base.settings), ...active.map((d) => d.settings)];
  const tcpStats = everyone.some((s) => s.families?.includes('TCPStats'));
  const wide = nodeWideSettings(policies, environment);
  const exportIntervalMs = Math.min(wide.exportIntervalMs, ...everyone.flatMap((s) => s.intervalMs ?? []));
  const zero = policies.length === 0 && active.length === 0;
  const common = { limits, exportIntervalMs, tcpStats };
  const yaml = renderInstrumentYaml({
    ...wide,
    exportIntervalMs,
    tcpStats,
    entries: [...live.map((s) => baseEntry(s, zero)), ...shares.flatMap((s) => s.entries)],
    exclusions: exclusions(input),
    instrumentations: instrumentations(everyone),
    headers: capturedHeaders(
      shares.flatMap((s) => s.headers),
      policies,
    ),
  });
  const fallback = input.scopes.flatMap((s) => fallbackRules(s, common, shares));
  const exports = policyExports(policies, namespaces, ownNamespace(environment));
  const redaction = redactionOf(policies, namespaces);
  const histogram = histogramOf(wide.histograms);
  const shared: SharedConfig = {
    version: 1,
    instrument: { version: wide.version, yaml },
    ...(fallback.length > 0 ? { fallback } : {}),
    ...(exports.length > 0 ? { exports } : {}),
    limits,
    retention: retentionOf(policies),
    ...(redaction.length > 0 ? { redaction } : {}),
    ...(histogram ? { histogram } : {}),
    generations: Object.assign({}, input.generations, ...shares.map((s) => s.generations)) as Record<string, number>,
  };
  const yamlHash = `sha256:${sha256Hex(yaml)}`;
  const content = { ...shared, instrument: { version: wide.version, yamlHash }, generations: undefined };
  const sharedDigest = sha256Hex(canonicalJson(content));
  return { shared, sharedDigest, yamlHash, rollout: rolloutOf(policies), common };
}

/** The plan for the monitors of one namespace in a group with these values. */
export function planMonitors({ drafts, excluded }: Share, common: Common): NamespacePlan {
  const monitors = new Map<string, MonitorPlan>();
  const ofPorts: Draft[] = [];
  for (const d of drafts) {
    monitors.set(d.monitor.key, finish(d, common, ofPorts));
    if (d.active && d.monitor.spec.ports) ofPorts.push(d);
  }
  const rules = [...monitors.values()].flatMap(({ rule }) => rule ?? []);
  const digest = rules.length > 0 ? sha256Hex(canonicalJson(rules)) : null;
  return { exportIntervalMs: common.exportIntervalMs, digest, excluded, monitors };
}

/**
 * The generations that a config puts into effect, by object. A refused object is left out, even if its last accepted
 * spec is in force.
 */
export function generationsOf(
  judged: readonly Judged<TrafficMonitor | ClusterTrafficPolicy>[],
): CaptureConfig['generations'] {
  const accepted = judged.filter((o) => o.accepted.ok);
  return Object.fromEntries(accepted.map(({ object }) => [generationKey(object), object.metadata.generation ?? 0]));
}

/** The explicit bounds that a policy sets. The agent converts exponential histograms into them. */
function histogramOf({ durationBuckets, sizeBuckets }: InstrumentSettings['histograms']): CaptureConfig['histogram'] {
  if (!durationBuckets && !sizeBuckets) return undefined;
  return {
    ...(durationBuckets ? { durationBounds: [...durationBuckets] } : {}),
    ...(sizeBuckets ? { sizeBounds: [...sizeBuckets] } : {}),
  };
}

export const namespaceOf = (m: MonitorInForce): string => m.object.metadata.namespace ?? '';

function draft(monitor: MonitorInForce, policies: readonly PolicyInForce[]): Draft {
  const { mode, suspend } = monitor.spec;
  const leaves = mergeLeaves(policies, monitor.spec);
  const pausedBy = policies.find((p) => p.spec.paused)?.name ?? null;
  const active = mode !== 'Exclude' && !suspend && pausedBy === null;
  return { monitor, policies, leaves, settings: effectiveSettings(leaves), pausedBy, active };
}

/** True when it captures pods that no monitor selects. */
const isLive = ({ mode, pausedBy }: Base): boolean => mode !== 'AllowList' && pausedBy === null;

function baseEntry({ namespaces, base }: BaseScope, zero: boolean): DiscoveryEntry {
  return {
    ...(namespaces ? { namespaces } : {}),
    ...(base.mode === 'All' ? { executables: ['*'] } : { ports: base.ports }),
    ...(base.containersOnly ? { containersOnly: true } : {}),
    ...(zero ? {} : { exports: askedFor(base.settings), sampler: base.settings.sampler, routes: base.settings.routes }),
  };
}

/**
 * The entries of monitors, weakest first. When two monitors may share a pod, the stronger entry carries the routes of
 * both, because for that pod the instrument follows only the stronger entry.
 */
function monitorEntries(active: readonly Draft[]): DiscoveryEntry[] {
  return [...active.entries()].toReversed().flatMap(([i, { monitor, settings }]) => {
    const shared = active.slice(i + 1).filter((weaker) => mayOverlap(weaker.monitor.spec, monitor.spec));
    const routes = sortedSet([...settings.routes, ...shared.flatMap((o) => o.settings.routes)]);
    const common = { exports: askedFor(settings), sampler: settings.sampler, routes };
    return monitorSelections(namespaceOf(monitor), monitor.spec).map((selection) => ({ ...selection, ...common }));
  });
}

/**
 * Spans are always requested together with metrics, because metric points prove which pod the spans come from (ADR 21).
 * The agent drops metrics that are not wanted.
 */
function askedFor({ exports }: EffectiveSettings): EffectiveSettings['exports'] {
  return exports.includes('traces') ? ['metrics', 'traces'] : exports;
}

function exclusions({ environment, policies, namespaces, shares }: GroupInput): Selection[] {
  const own: Selection = { namespaces: [ownNamespace(environment)] };
  const byPolicies = policies.flatMap((p) => {
    const within = namespacesOf(p, namespaces);
    return (p.spec.exclusions ?? []).flatMap((e) => exclusionSelections(e, within));
  });
  const byMonitors = shares.flatMap((s) => s.exclusions);
  const rest = distinct([...byPolicies, ...byMonitors]).filter((s) => canonicalJson(s) !== canonicalJson(own));
  return [own, ...rest];
}

/** All protocols that are wanted on the nodes; a monitor that names no protocol wants all of the usual ones. */
function instrumentations(everyone: readonly EffectiveSettings[]): InstrumentSettings['instrumentations'] {
  const named = sortedSet(everyone.flatMap((s) => s.protocols ?? []).map((p) => p.toLowerCase()));
  if (everyone.length > 0 && everyone.every((s) => s.protocols)) return { metrics: named, traces: named };
  const more = named.filter((p) => !builtinTraceInstrumentations.includes(p));
  return { metrics: ['*'], traces: [...builtinTraceInstrumentations, ...more] };
}

/** The members that the rules of monitors and fallback rules have in common; empty ones are absent. */
function podRules(s: EffectiveSettings, node: Common): Omit<CaptureFallbackRule, 'namespaces'> {
  const wantsMetrics = s.exports.includes('metrics');
  const families = !wantsMetrics
    ? []
    : (s.families ?? (node.tcpStats ? familyNames.filter((f) => f !== 'TCPStats') : undefined));
  return {
    ...(families ? { families: [...families] } : {}),
    ...(s.protocols ? { protocols: [...s.protocols] } : {}),
    ...(s.dropLabels.length > 0 ? { dropLabels: [...s.dropLabels] } : {}),
    ...(s.podLabels.length > 0 ? { podLabels: [...s.podLabels] } : {}),
    ...(s.intervalMs !== undefined && s.intervalMs > node.exportIntervalMs ? { intervalMs: s.intervalMs } : {}),
    ...(s.tail ? { tail: s.tail } : {}),
  };
}

/**
 * The rules for what no monitor covers. Under AllowList this is what a process of a monitor does on other ports, so it
 * has no TCP statistics, which are of a whole pod. Agents of version 0.1.0 judge flows by its families too.
 * In a namespace where the instrument samples a larger share for a monitor of ports, the rule also has the ratio.
 */
function fallbackRules({ namespaces, base }: BaseScope, node: Common, shares: readonly Share[]): CaptureFallbackRule[] {
  const rules = podRules(base.settings, node);
  const { families } = rules;
  if (families && families.length > 0) {
    const wanted = families.filter((family) => family !== 'TCPStats' || isLive(base));
    rules.families = familyNames.filter((family) => family === 'NetworkFlow' || wanted.includes(family));
  }
  const own = shareOf(base.settings);
  const exceeding = new Set(shares.flatMap(({ namespace, portShare }) => (portShare > own ? [namespace] : [])));
  const thinned = namespaces ? namespaces.filter((name) => exceeding.has(name)) : [...exceeding].toSorted();
  const others = namespaces?.filter((name) => !exceeding.has(name));
  return [
    ...(thinned.length > 0 ? [{ namespaces: thinned, ...rules, tail: ratioOf(base.settings) }] : []),
    ...(Object.keys(rules).length > 0 && others?.length !== 0
      ? [{ ...(others ? { namespaces: others } : {}), ...rules }]
      : []),
  ];
}

/** The share of traces that the instrument samples under these settings. */
const shareOf = ({ sampler }: EffectiveSettings): number => Number(sampler.arg ?? '1');

/** Makes the agent apply the ratio where the instrument samples a process by a stronger monitor of other ports. */
function ratioOf({ sampler }: EffectiveSettings): NonNullable<CaptureFallbackRule['tail']> {
  return { ratio: sampler.arg ?? '1', keepErrors: false };
}

/** `ofPorts` are the active monitors of ports that are stronger. */
function finish(d: Draft, common: Common, ofPorts: readonly Draft[]): MonitorPlan {
  const { monitor: m, settings } = d;
  const { limits } = common;
  const ceilings = d.policies.flatMap((p) => p.spec.limits?.maxSeriesPerMonitor ?? []);
  const ceiling = Math.min(limits.maxSeriesPerMonitor, ...ceilings);
  const asked = m.spec.limits?.maxSeries;
  const maxSeries = Math.min(asked ?? ceiling, ceiling);
  const spanCeiling = limits.maxSpansPerSecondPerNode ?? Number.POSITIVE_INFINITY;
  const askedSpans = m.spec.limits?.maxSpansPerSecond;
  const clamped = [
    ...(asked !== undefined && asked > ceiling ? [`limits.maxSeries is lowered from ${asked} to ${ceiling}`] : []),
    ...(askedSpans !== undefined && askedSpans > spanCeiling
      ? [`limits.maxSpansPerSecond is lowered from ${askedSpans} to ${spanCeiling}`]
      : []),
  ].join('; ');
  const ignorePaths = sortedSet(m.spec.http?.ignorePaths ?? []);
  const headers = headerNames(m.spec.http?.headers?.capture ?? []);
  const { rules: exportRules, outcomes } = monitorExports(
    namespaceOf(m),
    m.spec,
    d.policies,
    settings.exports.includes('traces'),
  );
  const isThinned = ofPorts.some((o) => shareOf(o.settings) > shareOf(settings) && mayOverlap(o.monitor.spec, m.spec));
  const rule: MonitorPlan['rule'] = d.active
    ? {
        namespace: namespaceOf(m),
        name: m.object.metadata.name ?? '',
        uid: m.object.metadata.uid ?? '',
        ...podRules(settings, common),
        ...(isThinned ? { tail: ratioOf(settings) } : {}),
        ...(m.spec.containers?.include ? { containers: sortedSet(m.spec.containers.include) } : {}),
        ...(m.spec.ports ? { ports: portsText(portRanges(m.spec.ports)) } : {}),
        ...(ignorePaths.length > 0 ? { ignorePaths } : {}),
        ...(exportRules.length > 0 ? { exports: exportRules } : {}),
        ...(headers.length > 0 ? { headers } : {}),
        ...(maxSeries < limits.maxSeriesPerMonitor ? { maxSeries } : {}),
        ...(askedSpans === undefined ? {} : { maxSpansPerSecond: Math.min(askedSpans, spanCeiling) }),
      }
    : null;
  const contribution = {
    rule,
    selections: monitorSelections(namespaceOf(m), m.spec),
    settings,
    mode: m.spec.mode,
    ...(m.spec.suspend ? { suspended: true } : {}),
  };
  const digest = sha256Hex(canonicalJson(contribution));
  return { ...d, rule, exports: outcomes, exportRules, clamped: clamped || null, digest };
}
