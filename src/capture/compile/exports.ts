import type { ClusterTrafficPolicySpec, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { maxAllowGlobs, type CaptureExportRule, type CapturePolicyExport } from '../capture-config.ts';
import { hostMatches, hostOf } from '../host-glob.ts';
import { namespacesOf } from './select/scope.ts';
import { sortedSet, type PolicyInForce } from './settings.ts';
import type { ExportOutcome, NamedLabels } from './types.ts';

type ExportSpec = NonNullable<TrafficMonitorSpec['export']>[number];

const inCluster = /^[a-z0-9-]+\.[a-z0-9-]+\.svc(\.cluster\.local)?$/;

/** Why an `export` list cannot be compiled, or null. The API server has already applied the schema's rules. */
export function exportFault(list: ClusterTrafficPolicySpec['export'] | TrafficMonitorSpec['export']): string | null {
  const names = new Set<string>();
  for (const [i, { name, endpoint, labels }] of (list ?? []).entries()) {
    const at = `spec.export[${i}]`;
    const host = hostOf(endpoint);
    if (host === null || /[\s$]/.test(endpoint)) return `${at}.endpoint: ${JSON.stringify(endpoint)} is no URL`;
    const url = new URL(endpoint);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && inCluster.test(host))) {
      return `${at}.endpoint: must be https, or http to an in-cluster Service (http://name.namespace.svc)`;
    }
    if (url.username || url.password) return `${at}.endpoint: credentials belong in a Secret, see secretRef`;
    const label = Object.keys(labels ?? {}).find((l) => !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(l) || l.startsWith('__'));
    if (label !== undefined) return `${at}.labels: ${JSON.stringify(label)} is no label name`;
    if (names.has(name)) return `${at}.name: ${JSON.stringify(name)} is there twice`;
    names.add(name);
  }
  return null;
}

/**
 * A monitor's destinations. `rules` has those whose host a policy of the namespace allows; `outcomes` says for each
 * whether it is allowed. Without an allow list none is allowed: a tenant may send data only to hosts that are listed.
 */
export function monitorExports(
  namespace: string,
  spec: TrafficMonitorSpec,
  policies: readonly PolicyInForce[],
  withSpans: boolean,
): { rules: CaptureExportRule[]; outcomes: ExportOutcome[] } {
  const lists = policies.flatMap((p) => p.spec.exportAllowList ?? []);
  const rules: CaptureExportRule[] = [];
  const outcomes: ExportOutcome[] = [];
  for (const item of (spec.export ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const host = hostOf(item.endpoint) ?? '';
    const allow = sortedSet(lists.filter((glob) => hostMatches(glob, host))).slice(0, maxAllowGlobs);
    const secret = secretOf(namespace, item);
    outcomes.push({ name: item.name, host, allowed: allow.length > 0, ...(secret ? { secret } : {}) });
    if (allow.length > 0) rules.push({ ...ruleOf(namespace, item, withSpans), allow });
  }
  return { rules, outcomes };
}

/**
 * Destinations that policies define themselves: for all data of the node, or for the namespaces that they cover.
 * `secretNamespace` has the Secrets that they refer to, because a policy has no namespace of its own.
 */
export function policyExports(
  policies: readonly PolicyInForce[],
  namespaces: readonly NamedLabels[],
  secretNamespace: string,
): CapturePolicyExport[] {
  return policies.flatMap((p) => {
    const names = namespacesOf(p, namespaces);
    return (p.spec.export ?? [])
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((item) => ({
        policy: p.name,
        ...(names ? { namespaces: names } : {}),
        ...ruleOf(secretNamespace, item, true),
      }));
  });
}

function ruleOf(namespace: string, item: ExportSpec, withSpans: boolean): CaptureExportRule {
  const secret = secretOf(namespace, item);
  return {
    name: item.name,
    type: item.type,
    endpoint: item.endpoint,
    ...(secret ? { secret } : {}),
    ...(item.families ? { families: sortedSet(item.families) } : {}),
    ...(item.labels && Object.keys(item.labels).length > 0 ? { labels: item.labels } : {}),
    ...(item.type === 'OTLP' && withSpans ? { spans: true as const } : {}),
  };
}

function secretOf(namespace: string, { secretRef }: ExportSpec): string | undefined {
  return secretRef && `${namespace}/${secretRef.name}/${secretRef.key}`;
}

/** `namespace/name/key` of each Secret key that the exports of a config refer to, sorted. */
export function secretRefsOf(config: {
  readonly exports?: readonly { readonly secret?: string }[];
  readonly monitors: readonly { readonly exports?: readonly { readonly secret?: string }[] }[];
}): string[] {
  const refs = new Set<string>();
  for (const { secret } of config.exports ?? []) if (secret !== undefined) refs.add(secret);
  for (const { exports } of config.monitors) {
    for (const { secret } of exports ?? []) if (secret !== undefined) refs.add(secret);
  }
  return sortedSet([...refs]);
}
