import type { StreamRequest } from '../../stream/index.ts';

/**
 * The nodes whose agents a request can concern. `wants` is restricted when every `include` names nodes: an item of
 * another agent cannot match. An `exclude` that names nodes and nothing else leaves out all items of these nodes.
 * A filter by node matches a flow if either end of the flow is on that node. Such a flow, too, is read only from the
 * agents of wanted nodes: the node of each end captures it.
 */
export function nodesOf({ include = [], exclude = [] }: StreamRequest): {
  readonly wants: (node: string) => boolean;
  /** The named nodes; undefined where any node may match. */
  readonly named: readonly string[] | undefined;
} {
  const all = include.length > 0 && include.every(({ node }) => node !== undefined && node.length > 0);
  const within = all ? new Set(include.flatMap(({ node }) => node!)) : undefined;
  const without = new Set(
    exclude.flatMap((filter) => {
      const others = Object.entries(filter).some(([field, values]) => field !== 'node' && values.length > 0);
      return others ? [] : (filter.node ?? []);
    }),
  );
  return {
    wants: (node) => !without.has(node) && within?.has(node) !== false,
    named: within && [...within].sort(),
  };
}

/** The visible part of the requested namespaces; undefined: all of them. */
export function visibleNamespaces(
  asked: readonly string[] | undefined,
  allowed: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (asked === undefined) return allowed;
  return new Set(allowed === undefined ? asked : asked.filter((name) => allowed.has(name)));
}

export function sameSet(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && [...a].every((name) => b.has(name));
}
