import type { KubeObject } from '../../../src/api/meta.ts';
import { coreResources, listAll, type KubeClient } from '../../../src/kube/index.ts';
import { childLabel, childrenOf, parts, type Part } from './crd.ts';

/** The first difference between what the Parts of a namespace ask for and what there is; undefined where there is none. */
export async function firstDifference(client: KubeClient, namespace: string): Promise<string | undefined> {
  const all = (await listAll<Part>(client, parts, { namespace })).items;
  const found = new Map<string, KubeObject>();
  for (const map of (await listAll(client, coreResources.configMaps, { namespace })).items) {
    if (/^p\d+-\d+$/.test(map.metadata.name ?? '')) found.set(map.metadata.name!, map);
  }
  for (const part of all) {
    const { name, generation } = part.metadata;
    if (part.status?.observedGeneration !== generation || part.status?.value !== part.spec.value) {
      return `the status of ${name} is ${JSON.stringify(part.status)}, its spec ${part.spec.value} of generation ${generation}`;
    }
    for (const child of childrenOf(part)) {
      const live = found.get(child.metadata.name!);
      found.delete(child.metadata.name!);
      if (!live) return `${child.metadata.name} of ${name} does not exist`;
      const value = (live['data'] as { value?: string } | undefined)?.value;
      if (value !== part.spec.value) return `${child.metadata.name} holds ${value}, wanted is ${part.spec.value}`;
      if (live.metadata.labels?.[childLabel] !== name) return `${child.metadata.name} has lost its label`;
    }
  }
  const [extra] = found.values();
  if (!extra) return undefined;
  const { name, uid, labels, ownerReferences = [], deletionTimestamp } = extra.metadata;
  const owner = all.find((part) => ownerReferences.some((reference) => reference.uid === part.metadata.uid));
  const whose = owner ? `its owner wants ${owner.spec.count}` : 'its owner is gone';
  const state = JSON.stringify({ uid, labels, deletionTimestamp });
  return `${name} exists and nobody wants it: ${whose}; ${state}`;
}

/**
 * How much a heap grew after its first third, which is warm-up: from the lowest of the second third to the lowest of the
 * last. Units: bytes.
 */
export function heapGrowth(samples: readonly number[]): number {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return 0;
  const low = (values: readonly number[]): number => Math.min(...values);
  return low(samples.slice(-third)) - low(samples.slice(third, 2 * third));
}
