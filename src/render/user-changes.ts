import type { KubeObject } from '../api/meta.ts';
import { names } from './names.ts';

/**
 * Two rendered objects are meant to be edited by a cluster's administrators: the binding `svc-metrics-reader`, to which
 * they add scrapers, and the NetworkPolicy of the scrape port, in which they open their namespaces. Both hold lists
 * that server-side apply treats as a whole, so applying the rendered object would undo these edits.
 *
 * `withUserChanges` returns the object to apply instead: our entries, and after them those of `live` that are not ours.
 * Entries of an administrator stay; our own are restored if removed. Other objects are returned unchanged.
 */
export function withUserChanges(rendered: KubeObject, live: KubeObject | undefined): KubeObject {
  if (!live) return rendered;
  if (rendered.kind === 'ClusterRoleBinding' && rendered.metadata.name === names.metricsReader) {
    return { ...rendered, subjects: union(rendered['subjects'], live['subjects']) };
  }
  if (rendered.kind === 'NetworkPolicy' && rendered.metadata.name === names.agentScrape) {
    const spec = rendered['spec'] as { ingress: unknown };
    const liveSpec = live['spec'] as { ingress?: unknown } | undefined;
    return { ...rendered, spec: { ...spec, ingress: union(spec.ingress, liveSpec?.ingress) } };
  }
  return rendered;
}

function union(ours: unknown, theirs: unknown): unknown[] {
  const merged = new Map<string, unknown>();
  for (const list of [ours, theirs]) {
    if (!Array.isArray(list)) continue;
    for (const entry of list as unknown[]) {
      const key = stableKey(entry);
      if (!merged.has(key)) merged.set(key, entry);
    }
  }
  return [...merged.values()];
}

/**
 * Equal for entries that differ only in the order of members, or in the defaults that the API server fills in for a
 * subject.
 */
function stableKey(entry: unknown): string {
  return JSON.stringify(entry, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const members = Object.entries(value).filter(([name, member]) => !(name === 'apiGroup' && member === ''));
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
