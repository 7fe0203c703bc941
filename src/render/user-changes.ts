import type { KubeObject } from '../api/meta.ts';
import { names } from './names.ts';

/**
 * Three rendered objects are meant to be edited by a cluster's administrators: the binding `svc-metrics-reader`, to
 * which they add scrapers, the NetworkPolicy of the scrape port, in which they open their namespaces, and the DaemonSet
 * of the agents, whose required node affinity they may replace. Server-side apply treats these lists, and the affinity,
 * as a whole, so applying the rendered object would undo the edits.
 *
 * `withUserChanges` returns the object to apply instead: our entries, and after them those of `live` that are not ours.
 * Entries of an administrator stay; our own are restored if removed. An annotation records our entries, so that those of
 * a former collector are known as ours and lose their right. The affinity, whose terms cannot be joined, is left out
 * while `live` has another one than ours. Other objects are returned unchanged.
 */
export function withUserChanges(rendered: KubeObject, live: KubeObject | undefined): KubeObject {
  if (rendered.kind === 'ClusterRoleBinding' && rendered.metadata.name === names.metricsReader) {
    const ours = rendered['subjects'];
    return { ...recording(ours, rendered), subjects: merged(ours, live, live?.['subjects']) };
  }
  if (rendered.kind === 'NetworkPolicy' && rendered.metadata.name === names.agentScrape) {
    const spec = rendered['spec'] as { ingress: unknown };
    const liveSpec = live?.['spec'] as { ingress?: unknown } | undefined;
    return {
      ...recording(spec.ingress, rendered),
      spec: { ...spec, ingress: merged(spec.ingress, live, liveSpec?.ingress) },
    };
  }
  if (rendered.kind === 'DaemonSet' && rendered.metadata.name === names.agent) {
    const ours = requiredNodes(rendered);
    const theirs = requiredNodes(live);
    const result = recording(ours, rendered);
    if (!theirs || [ours, formerEntries(live)].some((entry) => stableKey(entry) === stableKey(theirs))) return result;
    const { template } = rendered['spec'] as WithPods;
    const { affinity: _, ...pod } = template!.spec;
    return { ...result, spec: { ...(rendered['spec'] as WithPods), template: { ...template, spec: pod } } };
  }
  return rendered;
}

interface WithPods {
  template?: {
    spec: { affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: unknown } } };
  };
}

/** The required node affinity of a DaemonSet's pods. */
export const requiredNodes = (daemonSet: KubeObject | undefined): unknown =>
  (daemonSet?.['spec'] as WithPods | undefined)?.template?.spec.affinity?.nodeAffinity
    ?.requiredDuringSchedulingIgnoredDuringExecution;

/** Entries that the operator wrote, as JSON. Absent on objects that version 0.1.0 applied. */
const ownEntries = 'svc.dev/own-entries';

function recording(ours: unknown, object: KubeObject): KubeObject {
  const annotations = { ...object.metadata.annotations, [ownEntries]: JSON.stringify(ours) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function merged(ours: unknown, live: KubeObject | undefined, theirs: unknown): unknown[] {
  const former = new Set(listOf(formerEntries(live)).map(stableKey));
  const kept = listOf(theirs).filter((entry) => !former.has(stableKey(entry)));
  return [...new Map([...listOf(ours), ...kept].map((entry) => [stableKey(entry), entry])).values()];
}

/** What the annotation records. Somebody may have edited it: a text that is no JSON records nothing. */
function formerEntries(live: KubeObject | undefined): unknown {
  try {
    return JSON.parse(live?.metadata.annotations?.[ownEntries] ?? '[]');
  } catch {
    return [];
  }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
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
