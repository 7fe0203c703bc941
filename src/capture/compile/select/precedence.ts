import { compareText } from '../../../base/text/texts.ts';
import type { ObjectMeta } from '../../../api/meta.ts';
import type { TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { isEmptySelector } from './selector.ts';

interface Ranked {
  metadata: ObjectMeta;
  spec: { priority?: number };
}

/** Orders policies: the higher priority first, then the older, then by name. Negative when `a` is the stronger. */
export function comparePolicies(a: Ranked, b: Ranked): number {
  return (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || byAge(a.metadata, b.metadata);
}

/**
 * Orders monitors: the higher priority first, then the more specific, then the older, then by name. Negative when `a`
 * is the stronger.
 */
export function compareMonitors(
  a: { metadata: ObjectMeta; spec: TrafficMonitorSpec },
  b: { metadata: ObjectMeta; spec: TrafficMonitorSpec },
): number {
  return (
    (b.spec.priority ?? 0) - (a.spec.priority ?? 0) ||
    specificity(b.spec) - specificity(a.spec) ||
    byAge(a.metadata, b.metadata)
  );
}

/** How specifically a monitor selects: 2 by workloads, 1 by labels, 0 for the whole namespace. */
export function specificity(spec: TrafficMonitorSpec): 0 | 1 | 2 {
  if (spec.workloads && spec.workloads.length > 0) return 2;
  return isEmptySelector(spec.selector) ? 0 : 1;
}

/** Oldest first; equal ages by `namespace/name`. */
export function byAge(a: ObjectMeta, b: ObjectMeta): number {
  return compareText(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || compareText(objectPath(a), objectPath(b));
}

/** `namespace/name`, or the name alone. */
export function objectPath(meta: ObjectMeta): string {
  return meta.namespace === undefined ? (meta.name ?? '') : `${meta.namespace}/${meta.name ?? ''}`;
}
