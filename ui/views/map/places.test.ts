import { fixtureTopology, large, small } from '../../../e2e/page/fixture.ts';
import { foldTopology } from './fold.ts';
import { layoutOf, type Placed, type Point } from './layout.ts';
import { placesOf, type Place } from './places.ts';

const node = (name: string, namespace = 'shop'): Placed => ({ id: `workload/${namespace}/${name}`, namespace });
const none = new Map<string, Place>();

/** Pairs of nodes that overlap each other, or each other's names. */
function near(places: ReadonlyMap<string, Point>, nodes: readonly Placed[]): string[] {
  const shown = nodes.map(({ id }) => [id, places.get(id)!] as const);
  return shown.flatMap(([a, p], i) =>
    shown
      .slice(i + 1)
      .filter(([, q]) => Math.abs(p.x - q.x) < 130 && Math.abs(p.y - q.y) < 45)
      .map(([b]) => `${a} on ${b}`),
  );
}
const of = (places: ReadonlyMap<string, Point>, { id }: Placed): Point => ({
  x: places.get(id)!.x,
  y: places.get(id)!.y,
});

test('the places of a new map are those of its layout', () => {
  const { nodes, edges } = fixtureTopology(small);
  const places = placesOf(none, nodes, edges);
  const layout = layoutOf(nodes, edges);
  expect(nodes.map((one) => of(places, one))).toEqual(nodes.map((one) => of(layout, one)));
});

test('a new node that comes first in its column overlaps no other node', () => {
  const old = ['m', 'n', 'o'].map((name) => node(name));
  const before = placesOf(none, old, []);
  const nodes = [node('a'), ...old];
  const after = placesOf(before, nodes, []);
  expect(near(after, nodes)).toEqual([]);
  expect(old.map((one) => of(after, one))).toEqual(old.map((one) => of(before, one)));
});

test('a map that grows node by node gives each node a place of its own, and moves none', () => {
  const { nodes, edges } = fixtureTopology({ workloads: 60, edges: 150, nodes: 3 });
  let places = none;
  for (let count = 1; count <= nodes.length; count++) {
    // The last nodes first, so that each new node comes before the existing ones.
    const shown = nodes.slice(-count);
    const ids = new Set(shown.map(({ id }) => id));
    const next = placesOf(
      places,
      shown,
      edges.filter(({ source, target }) => ids.has(source) && ids.has(target)),
    );
    expect([...places].filter(([id, { x, y }]) => next.get(id)!.x !== x || next.get(id)!.y !== y)).toEqual([]);
    places = next;
  }
  expect(near(places, nodes)).toEqual([]);
});

test('a new namespace overlaps no existing namespace', () => {
  const old = [node('a', 'pay'), node('b', 'pay'), node('c', 'shop')];
  const added = [node('x', 'data'), node('y', 'data')];
  const before = placesOf(none, old, []);
  const after = placesOf(before, [...added, ...old], []);
  const rows = (nodes: readonly Placed[]): number[] => nodes.map((one) => of(after, one).y);
  expect(Math.min(...rows(added))).toBeGreaterThan(Math.max(...rows(old)) + 100);
});

test('a namespace is folded in its place, and unfolded to its former places', () => {
  const topology = fixtureTopology(large);
  const [whole, folded] = [foldTopology(topology, new Set()), foldTopology(topology, new Set(['pay']))];
  const before = placesOf(none, whole.nodes, whole.edges);
  const during = placesOf(before, folded.nodes, folded.edges);
  const after = placesOf(during, whole.nodes, whole.edges);
  expect(near(during, folded.nodes)).toEqual([]);
  const own = whole.nodes.filter(({ namespace }) => namespace === 'pay').map((one) => of(before, one));
  const { x, y } = during.get('folded/pay')!;
  expect([Math.min(...own.map((p) => p.x)) <= x, x <= Math.max(...own.map((p) => p.x))]).toEqual([true, true]);
  expect([Math.min(...own.map((p) => p.y)) <= y, y <= Math.max(...own.map((p) => p.y))]).toEqual([true, true]);
  expect(whole.nodes.map((one) => of(after, one))).toEqual(whole.nodes.map((one) => of(before, one)));
});

test('a node that disappears and returns gets its former place', () => {
  const all = ['a', 'b', 'c'].map((name) => node(name));
  const before = placesOf(none, all, []);
  const without = placesOf(before, all.slice(1), []);
  expect(of(placesOf(without, all, []), all[0]!)).toEqual(of(before, all[0]!));
});
