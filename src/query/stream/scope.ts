import type { StreamRequest } from '../../stream/index.ts';

/**
 * Which nodes' agents a request can be about. Every `include` that names nodes and nothing else matters: an item of
 * another agent cannot be one of these nodes' own. An `exclude` of nodes alone leaves out all that they have.
 * A flow that another node saw is not looked for there: its own node sees it too.
 */
export function nodesOf({ include = [], exclude = [] }: StreamRequest): {
  readonly wants: (node: string) => boolean;
  /** The nodes that are named; undefined where any may be meant. */
  readonly named: readonly string[] | undefined;
} {
  const all = include.length > 0 && include.every(({ node }) => node !== undefined && node.length > 0);
  const named = all ? [...new Set(include.flatMap(({ node }) => node!))].sort() : undefined;
  const without = new Set(
    exclude.flatMap((filter) => {
      const others = Object.entries(filter).some(([field, values]) => field !== 'node' && values.length > 0);
      return others ? [] : (filter.node ?? []);
    }),
  );
  return { wants: (node) => !without.has(node) && (named === undefined || named.includes(node)), named };
}

/** What of the namespaces that are asked for may be seen; undefined: all of them. */
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
