import { monitorOf, type UnsentExport } from '../../../capture/index.ts';
import type { NodeState } from '../node-state.ts';

type Node = Pick<NodeState, 'name' | 'status' | 'desired'>;

/**
 * What the agents report as unsent: with it, a compile keeps the destinations of monitors on nodes that the last pod has
 * left. It changes all the time, so only a change of what such nodes have makes a compile due.
 */
export class UnsentExports {
  /** What the nodes had for monitors without pods there at the newest compile, by node. */
  #compiled: ReadonlyMap<string, string> = new Map();

  /** The input of a compile. */
  of(nodes: Iterable<Node>): ReadonlyMap<string, readonly UnsentExport[]> {
    return new Map([...nodes].map((node) => [node.name, unsentOf(node)]));
  }

  /** To be called after a compile, with the configs that it made as `desired`. */
  compiled(nodes: Iterable<Node>): void {
    this.#compiled = new Map([...nodes].map((node) => [node.name, withoutPods(node)]));
  }

  /** Whether a compile with what the node reports now may give it other rules. */
  isNews(node: Node): boolean {
    return withoutPods(node) !== (this.#compiled.get(node.name) ?? '');
  }
}

/** The destinations of monitors that an agent has unsent data for. */
function unsentOf({ status }: Node): UnsentExport[] {
  return (status?.exports ?? []).filter(({ owner, pendingBytes }) => pendingBytes > 0 && monitorOf(owner) !== null);
}

/** Those of them whose monitor has no pod on the node, as a text. */
function withoutPods(node: Node): string {
  const unsent = unsentOf(node);
  if (unsent.length === 0) return '';
  const rules = node.desired?.config.monitors ?? [];
  const present = new Set(
    rules.flatMap(({ namespace, name, pods }) => (pods.length > 0 ? [`${namespace}/${name}`] : [])),
  );
  const left = unsent
    .filter(({ owner }) => !present.has(monitorOf(owner)!))
    .map(({ owner, name }) => `${owner}/${name}`);
  return left.toSorted().join();
}
