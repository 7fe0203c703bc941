import { foldTopology, labelOf, mostRates, nodesWithoutEdge, titleOf, widthOf } from './fold.ts';
import { layoutOf } from './layout.ts';
import { fixtureTopology, large, small } from '../../../e2e/page/fixture.ts';

test('the same nodes have the same places, whatever their order and their traffic', () => {
  const [a, b] = [fixtureTopology(small), fixtureTopology(small, 3)];
  expect(b).not.toEqual(a);
  expect(layoutOf(b.nodes.toReversed(), b.edges.toReversed())).toEqual(layoutOf(a.nodes, a.edges));
});

test('no two nodes of a large map overlap', () => {
  const { nodes, edges } = fixtureTopology(large);
  const places = [...layoutOf(nodes, edges)];
  expect(new Map(places).size).toBe(nodes.length);
  // The largest shape of a node is 54 wide and 34 high.
  const near = places.flatMap(([id, a], i) =>
    places
      .slice(i + 1)
      .filter(([, b]) => Math.abs(a.x - b.x) < 54 && Math.abs(a.y - b.y) < 34)
      .map(([other]) => [id, other]),
  );
  expect(near).toEqual([]);
});

test('a cycle of calls has a layout', () => {
  const nodes = ['a', 'b', 'c'].map((id) => ({ id, namespace: 'n' }));
  const links = [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a'],
    ['a', 'a'],
  ].map(([source, target]) => ({ source: source!, target: target! }));
  expect(layoutOf(nodes, links).size).toBe(3);
});

test('folded namespaces are one node each, and their edges add up', () => {
  const topology = fixtureTopology(small);
  const spaces = new Set(topology.nodes.map(({ namespace }) => namespace).filter(Boolean));
  const { nodes, edges } = foldTopology(topology, spaces);
  expect(
    nodes
      .filter(({ folded }) => folded > 0)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...spaces].sort());
  const ids = new Set(nodes.map(({ id }) => id));
  expect(edges.filter(({ source, target }) => !ids.has(source) || !ids.has(target) || source === target)).toEqual([]);
  const spaceOf = new Map(topology.nodes.map(({ id, namespace }) => [id, namespace]));
  const across = topology.edges.filter(({ source, target }) => spaceOf.get(source) !== spaceOf.get(target));
  expect(across.length).toBeGreaterThan(5);
  const total = (list: readonly (number | null)[]): number => list.reduce<number>((sum, rate) => sum + (rate ?? 0), 0);
  expect(total(edges.map((e) => e.requestRate))).toBeCloseTo(total(across.map((e) => e.stats.requestRate)));
});

test('a folded namespace that calls only itself is a node without an edge', () => {
  const topology = fixtureTopology(small);
  const inside = new Set(topology.nodes.filter(({ namespace }) => namespace === 'shop').map(({ id }) => id));
  const nodes = topology.nodes.filter(({ id }) => inside.has(id));
  const edges = topology.edges.filter(({ source, target }) => inside.has(source) && inside.has(target));
  expect(edges.length).toBeGreaterThan(1);
  const graph = foldTopology({ nodes, edges }, new Set(['shop']));
  expect(nodesWithoutEdge(graph).map(titleOf)).toEqual(['shop']);
  expect(nodesWithoutEdge(foldTopology(topology, new Set())).map(titleOf)).toEqual(['platform/payments']);
});

test('the width of an edge grows with its rate, within bounds, even if only bytes are known', () => {
  const width = (requestRate: number | null, bytesPerSecond: number | null = null): number =>
    widthOf({ requestRate, bytesPerSecond });
  expect([width(null), width(0)]).toEqual([1.2, 1.2]);
  expect(width(100)).toBeGreaterThan(width(10));
  expect(width(null, 1e6)).toBeGreaterThan(width(null, 1e3));
  expect(width(1e9)).toBe(7);
});

test('an edge shows its rate on a map of few edges, and a bad error share on every map', () => {
  const [well, failing] = [
    { requestRate: 12, errorShare: 0.01 },
    { requestRate: 12, errorShare: 0.25 },
  ];
  expect([well, failing].map((edge) => labelOf(edge, mostRates))).toEqual(['12/s', '✕ 25 % of 12/s']);
  expect([well, failing].map((edge) => labelOf(edge, mostRates + 1))).toEqual(['', '✕ 25 %']);
  expect(labelOf({ requestRate: null, errorShare: null }, 1)).toBe('');
});
