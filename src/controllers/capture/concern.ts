import { fileChanges, type FileChanges, type PodFacts } from '../../capture/index.ts';

/** Node name → the namespaces that have a pod there. */
export function namespacesByNode({ pods }: { pods: readonly PodFacts[] }): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { nodeName, namespace } of pods) {
    const own = found.get(nodeName);
    if (own) own.add(namespace);
    else found.set(nodeName, new Set([namespace]));
  }
  return found;
}

/** Pairs of files whose differences are remembered: as many as there are versions of a file in a fleet at a time. */
const maxPairs = 64;

/** `fileChanges` that compares two files once, however many nodes ask. */
export function rememberedChanges(): typeof fileChanges {
  const known = new Map<string, Map<string, FileChanges>>();
  let pairs = 0;
  return (a, b) => {
    const found = known.get(a)?.get(b);
    if (found) return found;
    if (pairs++ >= maxPairs) {
      known.clear();
      pairs = 1;
    }
    const changes = fileChanges(a, b);
    const own = known.get(a) ?? new Map<string, FileChanges>();
    known.set(a, own.set(b, changes));
    return changes;
  };
}
