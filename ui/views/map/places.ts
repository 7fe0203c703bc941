/** The places of nodes on a map that changes: shown nodes stay in place, and new nodes get free places. Pure. */
import { gap, layoutOf, rowHeight, type Link, type Placed, type Point } from './layout.ts';

/** The place of a node, which is remembered while the node is not shown. */
export interface Place extends Point {
  readonly namespace: string;
}

/** Nodes that are nearer than this overlap each other, or each other's names. Unit: px. */
const [leastX, leastY] = [130, 45];

/**
 * The places of `nodes`, and the remembered places of other nodes in `before`, unless these places are taken.
 * Guarantees: a shown node that is in `before` keeps its place, and no two nodes overlap. If `before` is empty, the
 * places are those of `layoutOf`.
 */
export function placesOf(
  before: ReadonlyMap<string, Place>,
  nodes: readonly Placed[],
  links: readonly Link[],
): Map<string, Place> {
  const layout = layoutOf(nodes, links);
  const kept = nodes.filter(({ id }) => before.has(id));
  const places = new Map(kept.map(({ id }) => [id, before.get(id)!]));
  for (const [namespace, members] of Map.groupBy(nodes, (node) => node.namespace)) {
    const known = members.filter(({ id }) => places.has(id));
    const added = members.filter(({ id }) => !places.has(id));
    const remembered = [...before.values()].filter((place) => place.namespace === namespace);
    const ofBox = offsetOfBox(
      added.map(({ id }) => layout.get(id)!),
      remembered,
      [...places.values()],
    );
    for (const { id } of added) {
      const wanted = layout.get(id)!;
      const offset = known.length === 0 ? ofBox : offsetNear(wanted, known, layout, places);
      places.set(id, { ...freePlace(plus(wanted, offset), places), namespace });
    }
  }
  for (const [id, place] of before) if (!places.has(id) && isFree(place, places)) places.set(id, place);
  return places;
}

const plus = (a: Point, b: Point): Point => ({ x: a.x + b.x, y: a.y + b.y });
const minus = (a: Point, b: Point): Point => ({ x: a.x - b.x, y: a.y - b.y });

/** How far the nearest known node was moved from its place in the layout. A new node is moved as far. */
function offsetNear(
  wanted: Point,
  known: readonly Placed[],
  layout: ReadonlyMap<string, Point>,
  places: ReadonlyMap<string, Point>,
): Point {
  const far = ({ id }: Placed): number => {
    const { x, y } = minus(layout.get(id)!, wanted);
    return Math.hypot(x, y);
  };
  const nearest = known.reduce((a, b) => (far(b) < far(a) ? b : a));
  return minus(places.get(nearest.id)!, layout.get(nearest.id)!);
}

/**
 * How far a namespace without known nodes is moved as a whole. It goes to its former place, such as the place of the
 * one node that it was folded into. Without a former place, it stays at its place in the layout if that is free, and
 * otherwise goes below everything.
 */
function offsetOfBox(added: readonly Point[], remembered: readonly Point[], others: readonly Point[]): Point {
  if (added.length === 0 || others.length === 0) return { x: 0, y: 0 };
  const own = boxOf(added);
  if (remembered.length > 0) return minus(middleOf(boxOf(remembered)), middleOf(own));
  const isOver = others.some(
    ({ x, y }) => x > own.left - gap && x < own.right + gap && y > own.top - gap && y < own.bottom + gap,
  );
  if (!isOver) return { x: 0, y: 0 };
  const all = boxOf(others);
  return { x: all.left - own.left, y: all.bottom + rowHeight + gap - own.top };
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function boxOf(points: readonly Point[]): Box {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}

const middleOf = ({ left, right, top, bottom }: Box): Point => ({ x: (left + right) / 2, y: (top + bottom) / 2 });

/** The place itself, or the nearest free place below or above it. */
function freePlace({ x, y }: Point, places: ReadonlyMap<string, Point>): Point {
  for (let rows = 0; ; rows++) {
    const free = [y + rows * rowHeight, y - rows * rowHeight].find((row) => isFree({ x, y: row }, places));
    if (free !== undefined) return { x, y: free };
  }
}

function isFree({ x, y }: Point, places: ReadonlyMap<string, Point>): boolean {
  for (const other of places.values()) {
    if (Math.abs(other.x - x) < leastX && Math.abs(other.y - y) < leastY) return false;
  }
  return true;
}
