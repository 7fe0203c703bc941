import { ExactSums } from '../../exact/exact-sums.ts';
import type { Labels } from '../../types.ts';
import { isFloat, type Column } from '../columns.ts';
import { RowMerge, type GroupRow } from './group-rows.ts';

/** The row of a sum with one step. */
function rowOf(labels: Labels, value: number, holders: readonly Column[] = []): GroupRow {
  const sums = new ExactSums(1);
  sums.addAll(Float64Array.of(value), Uint8Array.of(isFloat), isFloat);
  const state = sums.toState();
  return { labels, dropName: false, present: state.count, best: null, sums: state, holders, ignored: false };
}

const [a, b]: Labels[] = [[['i', 'a']], [['i', 'b']]];

test('a row whose group is there is joined, and a row that makes its group larger is not', () => {
  const merge = new RowMerge('sum');
  expect(merge.add([rowOf(a!, 1)])).toEqual([]);
  expect(merge.add([rowOf(b!, 1), rowOf(a!, 2)])).toEqual([1]);
  // Not a number: the group gets the counts of these.
  expect(merge.add([rowOf(a!, NaN)])).toEqual([]);
  expect(merge.add([rowOf(a!, NaN)])).toEqual([0]);
  // Three magnitudes: the step gets a big integer.
  expect(merge.add([rowOf(b!, 1e100)])).toEqual([0]);
  expect(merge.add([rowOf(b!, 1e300)])).toEqual([]);
});

test('a row may have more members with native histograms than a call has arguments', () => {
  const column: Column = {
    labels: [],
    kinds: Uint8Array.of(0),
    values: Float64Array.of(0),
    histograms: null,
    dropName: false,
  };
  const merge = new RowMerge('sum');
  const holders = new Array<Column>(500_000).fill(column);
  merge.add([rowOf(a!, 1, holders)]);
  expect(merge.finish()[0]!.holders).toHaveLength(holders.length);
});
