import type { ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import { parseDuration } from '../../base/duration.ts';
import { builtinLimits, largestSpanRing, type CaptureLimits, type CaptureRetention } from '../capture-config.ts';
import { builtinNetwork, builtinSettings } from '../instrument-yaml/builtin.ts';
import type { InstrumentSettings, NetworkSettings } from '../instrument-yaml/settings.ts';
import { parseBytes } from './bytes.ts';
import { bucketBound } from './check/policy-checks.ts';
import { everywhere, nodeQueryParams } from './check/redaction.ts';
import { first, type PolicyInForce } from './settings.ts';
import type { CompileEnvironment, FlowsState, RolloutRules } from './types.ts';

/**
 * The instrument's settings that exist once per node, without its discovery entries, the exclusions, and the settings
 * that are put together from all monitors. A policy with a namespaceSelector sets none of them, with one exception: the
 * instrument does not redact a query parameter that such a policy removes from redaction.
 */
export function nodeWideSettings(
  policies: readonly PolicyInForce[],
  environment: CompileEnvironment,
): InstrumentSettings {
  const settings = builtinSettings(environment);
  const get = <T>(pick: (spec: ClusterTrafficPolicySpec) => T | undefined): T | undefined => first(policies, pick);
  const duration = (field: string, text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : parseDuration(text, field);
  const durationBuckets = get((s) => s.http?.histogram?.durationBuckets);
  const sizeBuckets = get((s) => s.http?.histogram?.sizeBuckets);
  const extra = get((s) => s.instrument?.extraConfig) as InstrumentSettings['extra'];
  const clusterName = get((s) => s.instrument?.clusterName);
  const kubeMetaCache = get((s) => s.instrument?.kubeMetaCache);
  return {
    ...settings,
    logLevel: logLevels[get((s) => s.instrument?.logLevel) ?? 'Info'],
    exportIntervalMs: duration(
      'exportInterval',
      get((s) => s.instrument?.exportInterval),
      settings.exportIntervalMs,
    ),
    pollIntervalMs: duration(
      'pollInterval',
      get((s) => s.instrument?.pollInterval),
      settings.pollIntervalMs,
    ),
    ...(clusterName ? { clusterName } : {}),
    ...(kubeMetaCache ? { kubeMetaCache } : {}),
    ...(extra ? { extra } : {}),
    injection: {
      node: get((s) => s.instrument?.injection?.node) === 'Enabled',
      java: get((s) => s.instrument?.injection?.java) === 'Enabled',
    },
    defaultExclusions: get((s) => s.systemNamespaces) ?? 'Inherit',
    network: networkOf(policies),
    routes: {
      unmatched: unmatched[get((s) => s.http?.unmatched) ?? 'LowCardinality'],
      maxPathSegmentCardinality: get((s) => s.http?.maxPathSegmentCardinality) ?? 10,
    },
    histograms: {
      type: get((s) => s.http?.histogram?.type) ?? 'Explicit',
      ...(durationBuckets ? { durationBuckets: durationBuckets.map((b) => bucketBound('durationBuckets', b)) } : {}),
      ...(sizeBuckets ? { sizeBuckets: sizeBuckets.map((b) => bucketBound('sizeBuckets', b)) } : {}),
    },
    sensitiveQueryParams: nodeQueryParams(policies),
  };
}

const logLevels = { Debug: 'DEBUG', Info: 'INFO', Warn: 'WARN', Error: 'ERROR' } as const;
const unmatched = {
  LowCardinality: 'low-cardinality',
  Heuristic: 'heuristic',
  Wildcard: 'wildcard',
  Path: 'path',
  Unset: 'unset',
} as const;

/** Whether nodes under these policies capture flows, in the terms of the condition `CapturingFlows`. */
export function flowsOf(policies: readonly PolicyInForce[]): FlowsState {
  const speaking = policies.filter((p) => p.spec.network !== undefined);
  const enabled = first(speaking, (s) => s.network?.enabled);
  if (enabled === undefined) return 'NotEnabled';
  if (!enabled) return 'SwitchedOff';
  return speaking.some((p) => p.spec.paused) ? 'Paused' : 'Enabled';
}

/** Only a policy enables flows, because that also puts the agents into the host's network. */
function networkOf(policies: readonly PolicyInForce[]): NetworkSettings | null {
  if (flowsOf(policies) !== 'Enabled') return null;
  const get = <K extends keyof NonNullable<ClusterTrafficPolicySpec['network']>>(key: K) =>
    first(policies, (s) => s.network?.[key]);
  return {
    source: get('source') === 'TC' ? 'tc' : 'socket_filter',
    direction: ({ Both: 'both', Ingress: 'ingress', Egress: 'egress' } as const)[get('direction') ?? 'Both'],
    protocols: get('protocols') ?? builtinNetwork.protocols,
    excludeInterfaces: get('excludeInterfaces') ?? [],
    cidrs: (get('cidrs') ?? []).map((c) => ({ cidr: c.cidr, ...(c.name ? { name: c.name } : {}) })),
    sampling: get('sampling') ?? 0,
    dropExternal: get('dropExternal') ?? false,
    attributes: get('attributes') ?? [],
    deduper: get('deduper') === 'None' ? 'none' : 'first_come',
  };
}

/**
 * Ceilings: the smallest that any policy without a namespaceSelector sets; the built-in one when none sets one. Spans
 * have no built-in ceiling. `onLimit`: the value of the strongest policy that sets it.
 */
export function limitsOf(policies: readonly PolicyInForce[]): CaptureLimits {
  const least = (
    key: 'maxSeriesPerNode' | 'maxSeriesPerNamespace' | 'maxSeriesPerMonitor' | 'maxLabelValueLength',
  ): number => {
    const set = everywhere(policies).flatMap((p) => p.spec.limits?.[key] ?? []);
    return set.length > 0 ? Math.min(...set) : builtinLimits[key];
  };
  const spans = policies.flatMap((p) => p.spec.limits?.maxSpansPerSecondPerNode ?? []);
  return {
    maxSeriesPerNode: least('maxSeriesPerNode'),
    maxSeriesPerNamespace: least('maxSeriesPerNamespace'),
    maxSeriesPerMonitor: least('maxSeriesPerMonitor'),
    maxLabelValueLength: least('maxLabelValueLength'),
    onLimit: first(policies, (s) => s.limits?.onLimit) ?? builtinLimits.onLimit,
    ...(spans.length > 0 ? { maxSpansPerSecondPerNode: Math.min(...spans) } : {}),
  };
}

/**
 * Has only values that a policy sets, because even a value that equals the built-in one overrides the agent's own
 * flags.
 */
export function retentionOf(policies: readonly PolicyInForce[]): CaptureRetention {
  const of = (store: 'metrics' | 'spans', largest = Infinity): CaptureRetention['metrics'] => {
    const time = first(policies, (s) => s.retention?.[store]?.time);
    const size = first(policies, (s) => s.retention?.[store]?.size);
    return {
      ...(time === undefined ? {} : { timeMs: parseDuration(time, `retention.${store}.time`) }),
      ...(size === undefined ? {} : { sizeBytes: Math.min(parseBytes(size), largest) }),
    };
  };
  return { metrics: of('metrics'), spans: of('spans', largestSpanRing) };
}

/**
 * The rollout rules of a node, without its role as a canary. Without a policy that sets rollout rules every change goes
 * to all nodes immediately; with one, its unset fields take the documented defaults.
 */
export function rolloutOf(
  policies: readonly PolicyInForce[],
): Omit<RolloutRules, 'canary'> & { canaryNodes: NonNullable<ClusterTrafficPolicySpec['rollout']>['canaryNodes'] } {
  const speaking = policies.filter((p) => p.spec.rollout !== undefined);
  const get = <K extends keyof NonNullable<ClusterTrafficPolicySpec['rollout']>>(key: K) =>
    first(speaking, (s) => s.rollout?.[key]);
  const interval = get('minInterval');
  return {
    group: speaking.map((p) => p.name).join(','),
    maxUnavailable: get('maxUnavailable') ?? (speaking.length > 0 ? '10%' : '100%'),
    minIntervalMs:
      interval === undefined ? (speaking.length > 0 ? 60_000 : 0) : parseDuration(interval, 'rollout.minInterval'),
    pauseOnFailure: get('pauseOnFailure') ?? true,
    canaryNodes: get('canaryNodes'),
  };
}
