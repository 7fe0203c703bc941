import type { TrafficMonitor, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { familyNames } from '../../api/v1alpha1/index.ts';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import type { CaptureConfig, CaptureFallbackRule, CaptureMonitorRule, CapturePolicyExport } from '../capture-config.ts';
import { builtinTraceInstrumentations } from '../instrument-yaml/builtin.ts';
import { portRanges, portsText } from '../ports.ts';
import { renderInstrumentYaml } from '../instrument-yaml/render.ts';
import type { DiscoveryEntry, InstrumentSettings, Selection } from '../instrument-yaml/settings.ts';
import { monitorExports, policyExports } from './exports.ts';
import { capturedHeaders } from './headers.ts';
import type { Memo } from './memo.ts';
import { limitsOf, nodeWideSettings, retentionOf } from './node-wide.ts';
import { headerNames, redactionOf } from './check/redaction.ts';
import { baseScopes, namespacesOf, policiesOf, type BaseScope } from './select/scope.ts';
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

/** A monitor with the spec that is compiled in. */
export interface MonitorInForce {
  key: string;
  object: TrafficMonitor;
  spec: TrafficMonitorSpec;
}

/** One monitor on the nodes of one group. */
export interface MonitorPlan {
  policies: readonly PolicyInForce[];
  leaves: readonly LeafValue[];
  settings: EffectiveSettings;
  pausedBy: string | null;
  /** Its rule without the names of pods; null when it captures nothing on these nodes. */
  rule: Omit<CaptureMonitorRule, 'pods'> | null;
  clamped: string | null;
  exports: readonly ExportOutcome[];
  digest: string;
}

/** The values shared by all nodes under one set of policies. */
export interface GroupPlan {
  yaml: string;
  yamlHash: string;
  version: InstrumentSettings['version'];
  /** Units: ms. */
  exportIntervalMs: number;
  limits: CaptureConfig['limits'];
  retention: CaptureConfig['retention'];
  /** Empty when no policy has redaction rules. */
  redaction: NonNullable<CaptureConfig['redaction']>;
  histogram: CaptureConfig['histogram'];
  fallback: readonly CaptureFallbackRule[];
  exports: readonly CapturePolicyExport[];
  monitors: ReadonlyMap<string, MonitorPlan>;
}

export interface GroupInput {
  environment: CompileEnvironment;
  /** Strongest first, those whose nodeSelector matches. */
  policies: readonly PolicyInForce[];
  namespaces: readonly NamedLabels[];
  /** By namespace, and within a namespace strongest first. */
  monitors: readonly MonitorInForce[];
  memo: Memo;
  /** The key of this group in the memo. */
  owner: object;
}

/**
 * The compile of one group of nodes. Nothing in it depends on pods: a pod that comes or goes never restarts capture.
 * Errors: ERR_CAPTURE_INVALID if the instrument would refuse the rendered file, which the checks on each object rule
 * out.
 */
export function planGroup(input: GroupInput): GroupPlan {
  const { policies, environment, memo, owner } = input;
  const limits = memo.cell(owner, 'limits', [policies], () => limitsOf(policies));
  const labels = new Map(input.namespaces.map((ns) => [ns.name, ns.labels]));
  const scopes = memo.cell(owner, 'scopes', [policies, input.namespaces, environment], () =>
    baseScopes(policies, input.namespaces, environment),
  );
  const coverings = new Map<string, readonly PolicyInForce[]>();
  const covering = (namespace: string): readonly PolicyInForce[] =>
    memo.pair(owner, memo.owner(`namespace ${namespace}`), 'policies', [policies, labels.get(namespace)], () =>
      policiesOf(policies, labels.get(namespace) ?? {}),
    );
  const drafts = new Map(
    input.monitors.map((m) => {
      const own = coverings.get(namespaceOf(m)) ?? covering(namespaceOf(m));
      coverings.set(namespaceOf(m), own);
      return [m.key, memo.pair(owner, m, 'draft', [own], () => draft(m, own))];
    }),
  );
  const active = input.monitors.filter((m) => m.spec.mode !== 'Exclude' && isActive(m, drafts.get(m.key)!));
  const capturing = new Set(active.map((m) => m.key));
  const live = scopes.filter((s) => s.base.mode !== 'AllowList' && s.base.pausedBy === null);
  const everyone = [...live.map((s) => s.base.settings), ...active.map((m) => drafts.get(m.key)!.settings)];
  const tcpStats = everyone.some((s) => s.families?.includes('TCPStats'));
  const wide = nodeWideSettings(policies, environment);
  const exportIntervalMs = Math.min(wide.exportIntervalMs, ...everyone.flatMap((s) => s.intervalMs ?? []));
  const zero = policies.length === 0 && active.length === 0;
  const recognised = instrumentations(everyone);
  const settings: InstrumentSettings = {
    ...wide,
    exportIntervalMs,
    tcpStats,
    entries: [...live.map((s) => baseEntry(s, zero)), ...monitorEntries(active, drafts, input)],
    exclusions: exclusions(input),
    instrumentations: recognised,
    headers: capturedHeaders(
      active.map((m) => m.spec.http?.headers?.capture ?? []),
      policies,
    ),
  };
  const yaml = renderInstrumentYaml(
    settings,
    memo.cell(owner, 'written entries', [environment], () => new WeakMap()),
  );
  const common = { exportIntervalMs, tcpStats };
  return {
    yaml,
    yamlHash: `sha256:${sha256Hex(yaml)}`,
    version: wide.version,
    exportIntervalMs,
    limits,
    retention: retentionOf(policies),
    redaction: redactionOf(policies, input.namespaces),
    histogram: histogramOf(wide.histograms),
    exports: policyExports(policies, input.namespaces),
    fallback: live.flatMap((s) => fallbackRule(s, common)),
    monitors: new Map(
      input.monitors.map((m) => {
        const [own, on] = [drafts.get(m.key)!, capturing.has(m.key)];
        const deps = [own, on, limits, exportIntervalMs, tcpStats];
        return [m.key, memo.pair(owner, m, 'plan', deps, () => finish(m, own, on, limits, common))];
      }),
    ),
  };
}

/** The explicit bounds of a policy, for the agent to convert exponential histograms into. */
function histogramOf({ durationBuckets, sizeBuckets }: InstrumentSettings['histograms']): CaptureConfig['histogram'] {
  if (!durationBuckets && !sizeBuckets) return undefined;
  return {
    ...(durationBuckets ? { durationBounds: [...durationBuckets] } : {}),
    ...(sizeBuckets ? { sizeBounds: [...sizeBuckets] } : {}),
  };
}

interface Draft {
  policies: readonly PolicyInForce[];
  leaves: readonly LeafValue[];
  settings: EffectiveSettings;
  pausedBy: string | null;
}

export const namespaceOf = (m: MonitorInForce): string => m.object.metadata.namespace ?? '';

function draft(m: MonitorInForce, policies: readonly PolicyInForce[]): Draft {
  const leaves = mergeLeaves(policies, m.spec);
  const pausedBy = policies.find((p) => p.spec.paused)?.name ?? null;
  return { policies, leaves, settings: effectiveSettings(leaves), pausedBy };
}

function isActive(m: MonitorInForce, d: Draft): boolean {
  return !m.spec.suspend && d.pausedBy === null;
}

function baseEntry({ namespaces, base }: BaseScope, zero: boolean): DiscoveryEntry {
  return {
    ...(namespaces ? { namespaces } : {}),
    ...(base.mode === 'All' ? { executables: ['*'] } : { ports: base.ports }),
    ...(base.containersOnly ? { containersOnly: true } : {}),
    ...(zero ? {} : { exports: askedFor(base.settings), sampler: base.settings.sampler, routes: base.settings.routes }),
  };
}

/**
 * Weakest first. When two monitors may share a pod, the stronger entry carries the routes of both, because the stronger
 * entry decides.
 */
function monitorEntries(
  active: readonly MonitorInForce[],
  drafts: ReadonlyMap<string, Draft>,
  { memo, owner }: Pick<GroupInput, 'memo' | 'owner'>,
): DiscoveryEntry[] {
  return [...Map.groupBy(active, namespaceOf)].flatMap(([namespace, monitors]) => {
    const deps = monitors.flatMap((m) => [m, drafts.get(m.key)!]);
    const part = memo.owner(`namespace ${namespace}`);
    return memo.pair(owner, part, 'entries', deps, () => namespaceEntries(monitors, drafts));
  });
}

function namespaceEntries(monitors: readonly MonitorInForce[], drafts: ReadonlyMap<string, Draft>): DiscoveryEntry[] {
  const entries: DiscoveryEntry[] = [];
  for (const [i, m] of [...monitors.entries()].toReversed()) {
    const { settings } = drafts.get(m.key)!;
    const shared = monitors.slice(i + 1).filter((weaker) => mayOverlap(weaker.spec, m.spec));
    const routes = sortedSet([...settings.routes, ...shared.flatMap((o) => drafts.get(o.key)!.settings.routes)]);
    for (const selection of monitorSelections(namespaceOf(m), m.spec)) {
      entries.push({ ...selection, exports: askedFor(settings), sampler: settings.sampler, routes });
    }
  }
  return entries;
}

/**
 * Spans are always requested with metrics: their points prove whose the spans are (ADR 21). The agent drops the rest.
 */
function askedFor({ exports }: EffectiveSettings): EffectiveSettings['exports'] {
  return exports.includes('traces') ? ['metrics', 'traces'] : exports;
}

function exclusions(input: GroupInput): Selection[] {
  const own: Selection = { namespaces: ['svc-system'] };
  const byPolicies = input.policies.flatMap((p) => {
    const within = namespacesOf(p, input.namespaces);
    return (p.spec.exclusions ?? []).flatMap((e) => exclusionSelections(e, within));
  });
  const byMonitors = input.monitors
    .filter((m) => m.spec.mode === 'Exclude' && !m.spec.suspend)
    .flatMap((m) => monitorSelections(namespaceOf(m), m.spec));
  const rest = distinct([...byPolicies, ...byMonitors]).filter((s) => canonicalJson(s) !== canonicalJson(own));
  return [own, ...rest];
}

/** The union over the node; a monitor that names no protocol wants all of the usual ones. */
function instrumentations(everyone: readonly EffectiveSettings[]): InstrumentSettings['instrumentations'] {
  const named = sortedSet(everyone.flatMap((s) => s.protocols ?? []).map((p) => p.toLowerCase()));
  if (everyone.length > 0 && everyone.every((s) => s.protocols)) return { metrics: named, traces: named };
  const more = named.filter((p) => !builtinTraceInstrumentations.includes(p));
  return { metrics: ['*'], traces: [...builtinTraceInstrumentations, ...more] };
}

interface Common {
  exportIntervalMs: number;
  tcpStats: boolean;
}

/** The members that monitors and fallbacks share; empty ones are absent. */
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

function fallbackRule({ namespaces, base }: BaseScope, node: Common): CaptureFallbackRule[] {
  const rules = podRules(base.settings, node);
  if (Object.keys(rules).length === 0) return [];
  return [{ ...(namespaces ? { namespaces: [...namespaces] } : {}), ...rules }];
}

function finish(
  m: MonitorInForce,
  d: Draft,
  active: boolean,
  limits: CaptureConfig['limits'],
  node: Common,
): MonitorPlan {
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
  const { rules: exports, outcomes } = monitorExports(
    namespaceOf(m),
    m.spec,
    d.policies,
    d.settings.exports.includes('traces'),
  );
  const rule: MonitorPlan['rule'] = active
    ? {
        namespace: namespaceOf(m),
        name: m.object.metadata.name ?? '',
        uid: m.object.metadata.uid ?? '',
        ...podRules(d.settings, node),
        ...(m.spec.containers?.include ? { containers: sortedSet(m.spec.containers.include) } : {}),
        ...(m.spec.ports ? { ports: portsText(portRanges(m.spec.ports)) } : {}),
        ...(ignorePaths.length > 0 ? { ignorePaths } : {}),
        ...(exports.length > 0 ? { exports } : {}),
        ...(headers.length > 0 ? { headers } : {}),
        ...(maxSeries < limits.maxSeriesPerMonitor ? { maxSeries } : {}),
        ...(askedSpans === undefined ? {} : { maxSpansPerSecond: Math.min(askedSpans, spanCeiling) }),
      }
    : null;
  const contribution = {
    rule,
    selections: monitorSelections(namespaceOf(m), m.spec),
    settings: d.settings,
    mode: m.spec.mode,
  };
  return { ...d, rule, exports: outcomes, clamped: clamped || null, digest: sha256Hex(canonicalJson(contribution)) };
}
