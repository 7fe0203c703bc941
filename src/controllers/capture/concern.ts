import { sha256Hex } from '../../base/canonical-json.ts';
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

/** Maximum number of texts, and of comparisons, that are kept: a fleet has fewer versions of the file at a time. */
const maxKept = 64;

/** The instrument files of a fleet's nodes. Many nodes have the same file, so its text and comparisons are shared. */
export class Files {
  readonly #texts = new Map<string, string>();
  readonly #changes = new Map<string, FileChanges>();

  /** The file's text, held once for all nodes, and its hash. */
  shared(text: string): { text: string; hash: string } {
    const hash = `sha256:${sha256Hex(text)}`;
    return { hash, text: kept(this.#texts, hash, () => text) };
  }

  /** The difference between two files, computed once. `a` and `b` are identified by their hashes. */
  changes(a: FileVersion, b: FileVersion): FileChanges {
    return kept(this.#changes, `${a.hash} ${b.hash}`, () => fileChanges(a.text, b.text));
  }
}

export interface FileVersion {
  hash: string;
  text: string;
}

function kept<V>(map: Map<string, V>, key: string, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  if (map.size >= maxKept) map.clear();
  const value = make();
  map.set(key, value);
  return value;
}
