import {
  monitorSettingLeaves,
  type ClusterTrafficPolicySpec,
  type MetricFamily,
  type MonitorSettings,
  type Protocol,
} from '../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { parseDuration } from '../../base/duration.ts';
import type { CaptureMonitorRule } from '../capture-config.ts';
import type { Sampler } from '../instrument-yaml/settings.ts';

/** A policy with the spec that the compiler uses: the current one, or the last accepted one. */
export interface PolicyInForce {
  name: string;
  spec: ClusterTrafficPolicySpec;
}

/** The value of the strongest policy that sets it. `policies` are sorted, strongest first. */
export function first<T>(
  policies: readonly PolicyInForce[],
  get: (spec: ClusterTrafficPolicySpec) => T | undefined,
): T | undefined {
  return policies.map(({ spec }) => get(spec)).find((value) => value !== undefined);
}

/** Where a value came from, strongest layer first. */
export type Layer = 'override' | 'monitor' | 'default' | 'builtin';

export interface LeafValue {
  path: string;
  value: unknown;
  layer: Layer;
  /** The policy, for an override or a default. */
  policy?: string;
  /** True when the monitor set a value that an override replaced. */
  replaced: boolean;
}

/**
 * The value of every leaf of the shared settings, from the strongest layer that sets it:
 * overrides (first policy that sets it), then the monitor, then defaults (first policy that sets it), then built-in.
 * `policies` are sorted, strongest first.
 */
export function mergeLeaves(policies: readonly PolicyInForce[], monitor: MonitorSettings): LeafValue[] {
  return monitorSettingLeaves.map((leaf) => {
    const path = leaf.join('.');
    const own = at(monitor, leaf);
    const override = policies.find((p) => at(p.spec.overrides, leaf) !== undefined);
    if (override) {
      const value = at(override.spec.overrides, leaf);
      const replaced = own !== undefined && !isSameValue(path, own, value);
      return { path, value, layer: 'override', policy: override.name, replaced };
    }
    if (own !== undefined) return { path, value: own, layer: 'monitor', replaced: false };
    const fallback = policies.find((p) => at(p.spec.defaults, leaf) !== undefined);
    if (!fallback) return { path, value: undefined, layer: 'builtin', replaced: false };
    return { path, value: at(fallback.spec.defaults, leaf), layer: 'default', policy: fallback.name, replaced: false };
  });
}

/**
 * The merged settings in the terms of the instrument and the agent. `undefined` means "all" or "the node's setting".
 */
export interface EffectiveSettings {
  exports: ('metrics' | 'traces')[];
  protocols?: readonly Protocol[];
  families?: readonly MetricFamily[];
  dropLabels: readonly string[];
  podLabels: readonly string[];
  intervalMs?: number;
  routes: readonly string[];
  sampler: Sampler;
  tail?: NonNullable<CaptureMonitorRule['tail']>;
}

export function effectiveSettings(leaves: readonly LeafValue[]): EffectiveSettings {
  const get = <T>(path: string): T | undefined => leaves.find((leaf) => leaf.path === path)?.value as T | undefined;
  const interval = get<string>('metrics.interval');
  const protocols = get<Protocol[]>('protocols');
  const families = get<MetricFamily[]>('metrics.families');
  const tail = tailRule(get);
  return {
    exports: [
      ...(get('signals.metrics') === 'Disabled' ? [] : (['metrics'] as const)),
      ...(get('signals.spans') === 'Disabled' ? [] : (['traces'] as const)),
    ],
    ...(protocols ? { protocols: sortedSet(protocols) } : {}),
    ...(families ? { families: sortedSet(families) } : {}),
    dropLabels: sortedSet(get<string[]>('metrics.labels.exclude') ?? []),
    podLabels: sortedSet(get<string[]>('metrics.labels.podLabels') ?? []),
    ...(interval ? { intervalMs: parseDuration(interval, 'metrics.interval') } : {}),
    routes: sortedSet(get<string[]>('http.routes') ?? []),
    sampler: tail ? { name: 'always_on' } : headSampler(get),
    ...(tail ? { tail } : {}),
  };
}

type Get = <T>(path: string) => T | undefined;

function headSampler(get: Get): Sampler {
  const ratio = canonicalRatio(get('sampling.ratio') ?? '1');
  const parentBased = get<boolean>('sampling.parentBased') ?? true;
  if (ratio === '1') return { name: parentBased ? 'parentbased_always_on' : 'always_on' };
  return { name: parentBased ? 'parentbased_traceidratio' : 'traceidratio', arg: ratio };
}

/** With `keepErrors` or `keepSlowerThan` the instrument samples all; the agent decides once a trace is complete. */
function tailRule(get: Get): EffectiveSettings['tail'] {
  const keepErrors = get<boolean>('sampling.keepErrors') ?? false;
  const slower = get<string>('sampling.keepSlowerThan');
  if (!keepErrors && slower === undefined) return undefined;
  return {
    ratio: canonicalRatio(get('sampling.ratio') ?? '1'),
    keepErrors,
    ...(slower === undefined ? {} : { keepSlowerThanMs: parseDuration(slower, 'sampling.keepSlowerThan') }),
  };
}

/** Whether two values of a leaf mean the same: lists in any order, `0.20` and `0.2`, `60s` and `1m`. */
export function isSameValue(path: string, a: unknown, b: unknown): boolean {
  return canonicalJson(meaningOf(path, a)) === canonicalJson(meaningOf(path, b));
}

const durations = new Set(['metrics.interval', 'sampling.keepSlowerThan']);

function meaningOf(path: string, value: unknown): unknown {
  if (Array.isArray(value)) return sortedSet(value as string[]);
  if (typeof value !== 'string') return value ?? null;
  if (path === 'sampling.ratio') return canonicalRatio(value);
  return durations.has(path) ? parseDuration(value, path) : value;
}

/** `0.20` and `0.2` are the same value and give the same text. */
function canonicalRatio(text: string): string {
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
}

export function sortedSet<T extends string>(values: readonly T[]): T[] {
  return [...new Set(values)].toSorted();
}

function at(root: MonitorSettings | undefined, path: readonly string[]): unknown {
  let value: unknown = root;
  for (const member of path) value = (value as Record<string, unknown> | undefined)?.[member];
  return value ?? undefined;
}
