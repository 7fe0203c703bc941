/** A topology with some namespaces folded into one node each. Pure. */
import type { EdgePromql, Stats, Topology } from '../../../src/api/page/types.ts';
import { percent, perSecond } from '../../parts/format.ts';
import { levelOf, signs } from '../../parts/level.ts';

export interface MapNode {
  readonly id: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Number of nodes that a folded namespace stands for; 0 for a node that stands for itself. */
  readonly folded: number;
}

export interface MapEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly protocol: string;
  readonly requestRate: number | null;
  readonly errorShare: number | null;
  readonly p99Ms: number | null;
  readonly bytesPerSecond: number | null;
  readonly sources: readonly string[];
  /** Absent on an edge that combines several. */
  readonly promql?: EdgePromql;
}

export interface MapGraph {
  readonly nodes: readonly MapNode[];
  readonly edges: readonly MapEdge[];
}

/** The name of a node; of a folded one, that of its namespace. */
export const titleOf = ({ namespace, name, folded }: MapNode): string =>
  folded > 0 ? namespace : namespace ? `${namespace}/${name}` : name || 'unknown';

const foldedId = (namespace: string): string => `folded/${namespace}`;

export function foldTopology(
  { nodes, edges }: Pick<Topology, 'nodes' | 'edges'>,
  folded: ReadonlySet<string>,
): MapGraph {
  const place = new Map<string, string>();
  const shown = new Map<string, MapNode>();
  for (const { id, kind, namespace, name } of nodes) {
    const inside = namespace !== '' && folded.has(namespace);
    const own = inside ? foldedId(namespace) : id;
    place.set(id, own);
    const before = shown.get(own)?.folded ?? 0;
    shown.set(own, { id: own, kind, namespace, name: inside ? namespace : name, folded: inside ? before + 1 : 0 });
  }
  const lines = new Map<string, MapEdge>();
  for (const edge of edges) {
    const [source, target] = [place.get(edge.source), place.get(edge.target)];
    // An edge inside a folded namespace, or one without a known node, is not shown.
    if (source === undefined || target === undefined) continue;
    if (source === target && edge.source !== edge.target) continue;
    const whole = source === edge.source && target === edge.target;
    const id = whole ? edge.id : `${source}>${target}`;
    const { requestRate, errorShare, p99Ms, bytesPerSecond } = edge.stats;
    const own = { id, source, target, protocol: edge.protocol, requestRate, errorShare, p99Ms, bytesPerSecond };
    const one: MapEdge = { ...own, sources: edge.sources, ...(whole ? { promql: edge.promql } : {}) };
    const before = lines.get(id);
    lines.set(id, before === undefined ? one : joined(before, one));
  }
  return { nodes: [...shown.values()], edges: [...lines.values()] };
}

/** The nodes that no edge leads to or from, such as a folded namespace that calls only itself; by title. */
export function nodesWithoutEdge({ nodes, edges }: MapGraph): readonly MapNode[] {
  const ends = new Set(edges.flatMap(({ source, target }) => [source, target]));
  return nodes.filter(({ id }) => !ends.has(id)).sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
}

/** Two edges as one: rates are summed, error shares weighted by rate, and of quantiles the worse one is kept. */
function joined(a: MapEdge, b: MapEdge): MapEdge {
  const rate = sum(a.requestRate, b.requestRate);
  const failed = (a.errorShare ?? 0) * (a.requestRate ?? 0) + (b.errorShare ?? 0) * (b.requestRate ?? 0);
  return {
    id: a.id,
    source: a.source,
    target: a.target,
    protocol: a.protocol === b.protocol ? a.protocol : 'several',
    requestRate: rate,
    errorShare: rate ? failed / rate : (a.errorShare ?? b.errorShare),
    p99Ms: a.p99Ms === null || b.p99Ms === null ? (a.p99Ms ?? b.p99Ms) : Math.max(a.p99Ms, b.p99Ms),
    bytesPerSecond: sum(a.bytesPerSecond, b.bytesPerSecond),
    sources: [...new Set([...a.sources, ...b.sources])],
  };
}

function sum(a: number | null, b: number | null): number | null {
  return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
}

/** Up to this many edges show their rates; with more, labels would hide the map. */
export const mostRates = 40;

/** The label of an edge: its error share where that is bad, and its rate where the map has room. */
export function labelOf(edge: Pick<MapEdge, 'requestRate' | 'errorShare'>, edges: number): string {
  const rate = edges <= mostRates && edge.requestRate !== null ? perSecond(edge.requestRate) : '';
  if (levelOf(edge.errorShare) !== 'bad') return rate;
  const failing = `${signs.bad} ${percent(edge.errorShare)}`;
  return rate === '' ? failing : `${failing} of ${rate}`;
}

/**
 * Width of an edge: 1.2 px for a low or unknown rate, 1 px more for each factor of four, at most 7. If only bytes are
 * known, 10 kB per second count as one request per second.
 */
export function widthOf({ requestRate, bytesPerSecond }: Pick<Stats, 'requestRate' | 'bytesPerSecond'>): number {
  const rate = requestRate ?? (bytesPerSecond ?? 0) / 10_000;
  return Math.min(7, 1.2 + Math.log(1 + rate) / Math.log(4));
}
