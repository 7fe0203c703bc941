/** The places of a map that changes: what is shown stays where it is, and what is new gets a free place. Pure. */
import { gap, layoutOf, rowHeight, type Link, type Placed, type Point } from './layout.ts';

/** The place of a node, which is remembered when the node is not shown. */
export interface Place extends Point {
  readonly namespace: string;
}

/** Nodes nearer than this to each other are drawn on each other, or on each other's names. Unit: px. */
const [leastX, leastY] = [130, 45];

/**
 * The places of these nodes, and of those in `before` that are not among them, unless their place is taken.
 * Guarantees: a node in `before` keeps its place, and no two nodes stand on each other. If `before` is empty, the
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

/** How far the known node that is nearest in the layout stands from its place there: its neighbours stand as far. */
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
 * How far a namespace without known nodes is moved as a whole: to where it stood before (folded, say), or nowhere where
 * the layout's place is free, or below everything.
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

/** The place itself, or the nearest one below or above that no node takes. */
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
