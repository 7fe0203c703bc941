/** The layout of a map: columns by call depth inside a namespace, namespaces in rows. Pure. */

export interface Placed {
  readonly id: string;
  readonly namespace: string;
}
export interface Link {
  readonly source: string;
  readonly target: string;
}
export interface Point {
  readonly x: number;
  readonly y: number;
}

const columnWidth = 170;
export const rowHeight = 64;
/** The distance between the boxes of two namespaces. Unit: px. */
export const gap = 90;
/** The largest number of nodes in one column; further nodes go into the next. */
const tallest = 8;

/** The call depth of each node below the nodes without callers. Passes are bounded, because calls may form a cycle. */
function ranksOf(nodes: readonly Placed[], links: readonly Link[]): Map<string, number> {
  const rank = new Map(nodes.map(({ id }) => [id, 0]));
  for (let pass = 0; pass < 8; pass++) {
    let moved = false;
    for (const { source, target } of links) {
      const next = (rank.get(source) ?? 0) + 1;
      if (source !== target && next <= 8 && next > (rank.get(target) ?? 9)) {
        rank.set(target, next);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return rank;
}

/** The place of each node. The same nodes and links give the same places, whatever their order and their rates. */
export function layoutOf(nodes: readonly Placed[], links: readonly Link[]): Map<string, Point> {
  const rank = ranksOf(
    nodes,
    links.toSorted((a, b) => (a.source + a.target < b.source + b.target ? -1 : 1)),
  );
  const groups = Map.groupBy(
    nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ({ namespace }) => namespace,
  );
  const boxes = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, members]) => boxOf(members, rank));
  const area = boxes.reduce((sum, { width, height }) => sum + (width + gap) * (height + gap), 0);
  const widest = Math.max(Math.sqrt(area * 1.7), ...boxes.map(({ width }) => width));
  const places = new Map<string, Point>();
  let [x, y, shelf] = [0, 0, 0];
  for (const { width, height, points } of boxes) {
    if (x > 0 && x + width > widest) {
      y += shelf + gap;
      [x, shelf] = [0, 0];
    }
    for (const [id, point] of points) places.set(id, { x: x + point.x, y: y + point.y });
    x += width + gap;
    shelf = Math.max(shelf, height);
  }
  return places;
}

function boxOf(members: readonly Placed[], rank: ReadonlyMap<string, number>) {
  const ranks = [...Map.groupBy(members, ({ id }) => rank.get(id) ?? 0)].toSorted(([a], [b]) => a - b);
  const columns = ranks.flatMap(([, column]) =>
    Array.from({ length: Math.ceil(column.length / tallest) }, (_, i) => column.slice(i * tallest, (i + 1) * tallest)),
  );
  const rows = Math.max(...columns.map((column) => column.length));
  const points = columns.flatMap((column, c) =>
    column.map(({ id }, r): [string, Point] => [
      id,
      // A short column is centred in its box. Odd columns are lower, so that links between columns do not coincide.
      { x: c * columnWidth, y: (r + (rows - column.length) / 2) * rowHeight + (c % 2) * (rowHeight / 4) },
    ]),
  );
  return { points, width: columns.length * columnWidth, height: rows * rowHeight };
}
