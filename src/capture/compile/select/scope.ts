import { compareText } from '../../../base/text/texts.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { ownNamespace } from '../../instrument-yaml/builtin.ts';
import { parsePorts, portRanges, type PortRange } from '../../ports.ts';
import { matchesSelector } from './selector.ts';
import { effectiveSettings, first, mergeLeaves, type EffectiveSettings, type PolicyInForce } from '../settings.ts';
import type { CompileEnvironment, NamedLabels } from '../types.ts';

/** The rule for those pods of some namespaces that no monitor selects. */
export interface BaseScope {
  /** Sorted names; undefined = every namespace, and processes outside of pods. */
  namespaces: readonly string[] | undefined;
  base: Base;
}

export interface Base {
  mode: 'ByPort' | 'All' | 'AllowList';
  ports: readonly PortRange[];
  containersOnly: boolean;
  pausedBy: string | null;
  settings: EffectiveSettings;
}

/** The policies for a namespace with these labels, strongest first; for processes outside of pods without labels. */
export function policiesOf(
  policies: readonly PolicyInForce[],
  labels: Readonly<Record<string, string>> | undefined,
): PolicyInForce[] {
  return policies.filter(
    (p) => !p.spec.namespaceSelector || (labels && matchesSelector(p.spec.namespaceSelector, labels)),
  );
}

/** The names of the namespaces that a policy is restricted to, sorted; undefined for one that is not. */
export function namespacesOf({ spec }: PolicyInForce, namespaces: readonly NamedLabels[]): string[] | undefined {
  if (!spec.namespaceSelector) return undefined;
  const within = namespaces.filter(({ labels }) => matchesSelector(spec.namespaceSelector, labels));
  return within.map(({ name }) => name).toSorted();
}

/** The rule (base) that a set of policies, merged, gives for pods that no monitor selects. */
export function baseOf(policies: readonly PolicyInForce[], environment: CompileEnvironment): Base {
  const ports = first(policies, (spec) => spec.capture?.ports);
  return {
    mode: first(policies, (spec) => spec.capture?.mode) ?? 'ByPort',
    ports: ports ? portRanges(ports) : parsePorts(environment.ports, '--obi-instrument-ports'),
    containersOnly: first(policies, (spec) => spec.capture?.containersOnly) ?? policies.length > 0,
    pausedBy: policies.find((p) => p.spec.paused)?.name ?? null,
    settings: effectiveSettings(mergeLeaves(policies, {})),
  };
}

/**
 * Groups namespaces with equal rules (bases). One base for all gives a single scope without names. Otherwise every
 * scope lists its namespaces, because the instrument's globs cannot say "all but these"; processes outside of pods have
 * no namespace and are then not captured.
 */
export function baseScopes(
  policies: readonly PolicyInForce[],
  namespaces: readonly NamedLabels[],
  environment: CompileEnvironment,
): BaseScope[] {
  const byPolicies = new Map<string, Base>();
  const baseFor = (covering: readonly PolicyInForce[]): Base => {
    const key = covering.map((p) => p.name).join('\n');
    const found = byPolicies.get(key) ?? baseOf(covering, environment);
    byPolicies.set(key, found);
    return found;
  };
  const rest = baseFor(policiesOf(policies, undefined));
  if (!policies.some((p) => p.spec.namespaceSelector)) return [{ namespaces: undefined, base: rest }];
  const own = ownNamespace(environment);
  const scopes = new Map<string, { namespaces: string[]; base: Base }>([
    [canonicalJson(rest), { namespaces: [], base: rest }],
  ]);
  for (const ns of namespaces) {
    if (ns.name === own) continue;
    const base = baseFor(policiesOf(policies, ns.labels));
    const key = canonicalJson(base);
    const scope = scopes.get(key) ?? { namespaces: [], base };
    scope.namespaces.push(ns.name);
    scopes.set(key, scope);
  }
  if (scopes.size === 1) return [{ namespaces: undefined, base: rest }];
  return [...scopes.values()]
    .filter((scope) => scope.namespaces.length > 0)
    .map((scope) => ({ ...scope, namespaces: scope.namespaces.toSorted() }))
    .toSorted((a, b) => compareText(a.namespaces[0]!, b.namespaces[0]!));
}
