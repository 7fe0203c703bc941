import type { TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { ownValue } from '../../../base/collections/own-value.ts';
import { matchPods, workloadName } from '../select/pods.ts';
import { matchesSelector } from '../select/selector.ts';
import type { PodFacts } from '../types.ts';

/** Which field of a monitor leaves the pod out, with what the pod has instead; null when none does. Pure. */
export function podMismatch(spec: TrafficMonitorSpec, pod: PodFacts): string | null {
  for (const [key, wanted] of Object.entries(spec.selector?.matchLabels ?? {})) {
    if (ownValue(pod.labels, key) !== wanted)
      return `selector wants label ${key}=${wanted}, the pod has ${labelText(pod, key)}`;
  }
  for (const expression of spec.selector?.matchExpressions ?? []) {
    if (matchesSelector({ matchExpressions: [expression] }, pod.labels)) continue;
    const { key, operator, values = [] } = expression;
    const wanted = [key, operator, ...(values.length > 0 ? [`(${values.join(', ')})`] : [])].join(' ');
    return `selector wants ${wanted}, the pod has ${labelText(pod, key)}`;
  }
  if (matchPods({ ...spec, containers: {} }, [pod]).length === 0) {
    const wanted = (spec.workloads ?? []).map(({ kind, name }) => `${kind}/${name}`).join(', ');
    const kinds = [...new Set((spec.workloads ?? []).map(({ kind }) => kind))];
    const has = kinds.flatMap((kind) => {
      const name = workloadName(pod, kind);
      return name === undefined ? [] : [`${kind}/${name}`];
    });
    return `workloads has ${wanted}, the pod is of ${has.join(', ') || 'none of these kinds'}`;
  }
  if (matchPods(spec, [pod]).length > 0) return null;
  return `containers.include has ${(spec.containers?.include ?? []).join(', ')}, the pod has ${pod.containers.join(', ')}`;
}

function labelText({ labels }: PodFacts, key: string): string {
  const value = ownValue(labels, key);
  return value === undefined ? `no label ${key}` : `${key}=${value}`;
}
