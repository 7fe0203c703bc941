import type { QueryData, Series } from '../api/promql.ts';

Object.assign(globalThis, { sessionStorage: { getItem: () => null, setItem: () => {} } });
const { querySummary } = await import('./query-summary.ts');

const answer = (resultType: 'vector' | 'matrix', count: number, more: Partial<Series>): QueryData => ({
  resultType,
  result: Array.from({ length: count }, (_, i) => ({ metric: { n: String(i) }, ...more })),
});
const vector = (count: number): QueryData => answer('vector', count, { value: [1, '1'] });
const graph = (count: number): QueryData => answer('matrix', count, { values: [[1, '1']] });

test('the summary says what is drawn or listed only in part', () => {
  expect(querySummary(vector(50), graph(50), 7)).toBe('50 series in 7 ms');
  expect(querySummary(vector(51), graph(51), 7)).toBe('51 series in 7 ms; the first 50 are drawn');
  expect(querySummary(vector(501), graph(501), 7)).toBe(
    '501 series in 7 ms; the first 50 are drawn, the first 500 listed',
  );
  expect(querySummary(vector(1), graph(51), 7)).toBe('1 series in 7 ms; the first 50 are drawn');
});

test('the summary names no drawn series without a graph, or with a graph of native histograms', () => {
  const range = answer('matrix', 60, { values: [[1, '1']] });
  expect(querySummary(range, undefined, 7)).toBe('60 series in 7 ms');
  expect(querySummary(vector(60), answer('matrix', 60, { histograms: [] }), 7)).toBe('60 series in 7 ms');
  expect(querySummary({ resultType: 'scalar', result: [1, '2'] }, undefined, 7)).toBe('1 series in 7 ms');
});
