import type { KubeObject } from '../../../src/api/meta.ts';
import { coreResources, listAll, type KubeClient } from '../../../src/kube/index.ts';
import { childLabel, childrenOf, parts, type Part } from './crd.ts';

export interface Difference {
  text: string;
  /**
   * Who must remove the difference. When a Part (a custom resource of the soak) was deleted, Kubernetes' garbage
   * collector has to delete its children; all other differences are the operator's.
   */
  whose: 'operator' | 'garbage collector';
}

/**
 * The first difference between the objects that a namespace's Parts ask for and the objects that exist. Differences
 * that the operator must remove come first.
 */
export async function firstDifference(client: KubeClient, namespace: string): Promise<Difference | undefined> {
  const operators = (text: string): Difference => ({ text, whose: 'operator' });
  const all = (await listAll<Part>(client, parts, { namespace })).items;
  const found = new Map<string, KubeObject>();
  for (const map of (await listAll(client, coreResources.configMaps, { namespace })).items) {
    if (/^p\d+-\d+$/.test(map.metadata.name ?? '')) found.set(map.metadata.name!, map);
  }
  for (const part of all) {
    const { name, generation } = part.metadata;
    if (part.status?.observedGeneration !== generation || part.status?.value !== part.spec.value) {
      const status = JSON.stringify(part.status);
      return operators(`the status of ${name} is ${status}, its spec ${part.spec.value} of generation ${generation}`);
    }
    for (const child of childrenOf(part)) {
      const live = found.get(child.metadata.name!);
      found.delete(child.metadata.name!);
      if (!live) return operators(`${child.metadata.name} of ${name} does not exist`);
      const value = (live['data'] as { value?: string } | undefined)?.value;
      if (value !== part.spec.value)
        return operators(`${child.metadata.name} holds ${value}, wanted is ${part.spec.value}`);
      if (live.metadata.labels?.[childLabel] !== name) return operators(`${child.metadata.name} has lost its label`);
    }
  }
  const ownerOf = ({ metadata: { ownerReferences = [] } }: KubeObject): Part | undefined =>
    all.find((part) => ownerReferences.some(({ uid }) => uid === part.metadata.uid));
  // The garbage collector never deletes an object without an owner reference, so the operator must.
  const ours = (object: KubeObject): boolean =>
    !object.metadata.ownerReferences?.length || ownerOf(object) !== undefined;
  const extras = [...found.values()];
  const extra = extras.find(ours) ?? extras[0];
  if (!extra) return undefined;
  const { name, uid, labels, deletionTimestamp } = extra.metadata;
  const owner = ownerOf(extra);
  const why = owner ? `its owner wants ${owner.spec.count}` : 'its owner is gone';
  const text = `${name} exists and nobody wants it: ${why}; ${JSON.stringify({ uid, labels, deletionTimestamp })}`;
  return { text, whose: ours(extra) ? 'operator' : 'garbage collector' };
}

/**
 * How much a heap grew after the first third of its samples, which is warm-up: from the lowest sample of the second
 * third to the lowest of the last. Units: bytes.
 */
export function heapGrowth(samples: readonly number[]): number {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return 0;
  const low = (values: readonly number[]): number => Math.min(...values);
  return low(samples.slice(-third)) - low(samples.slice(third, 2 * third));
}
