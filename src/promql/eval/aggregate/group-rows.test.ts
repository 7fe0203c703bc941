import { inTurns, type Pacing } from '../../../base/turns/turns.ts';
import { ExactSums, type SumState } from '../../exact/exact-sums.ts';
import type { Labels } from '../../types.ts';
import { isFloat, type Column } from '../columns.ts';
import { RowMerge, type GroupRow } from './group-rows.ts';

/** The row of a sum with one step, or with several that have the same value. */
function rowOf(labels: Labels, value: number, holders: readonly Column[] = [], steps = 1): GroupRow {
  const sums = new ExactSums(steps);
  sums.addAll(new Float64Array(steps).fill(value), new Uint8Array(steps).fill(isFloat), isFloat);
  sums.takeWork();
  const state = sums.toState().next().value as SumState;
  return { labels, dropName: false, present: state.count, best: null, sums: state, holders, ignored: false };
}

const [a, b]: Labels[] = [[['i', 'a']], [['i', 'b']]];

/** Counts the work and the turns of what is paced. */
class CountedTurns implements Pacing {
  work: number[] = [];
  turns = 0;

  spend(work: number): boolean {
    this.work.push(work);
    return true;
  }

  async turn(): Promise<void> {
    this.turns++;
  }
}

/** Adds rows. Returns which are joined, and the bytes by which their groups have grown. */
async function added(
  merge: RowMerge,
  rows: readonly GroupRow[],
  pacing = new CountedTurns(),
): Promise<{ joined: number[]; grown: number }> {
  let grown = 0;
  const joined = await inTurns(
    pacing,
    merge.add(rows, (bytes) => (grown += bytes)),
  );
  return { joined, grown };
}

test('a row whose group is there is joined, and the memory by which its group grows is held', async () => {
  const merge = new RowMerge('sum');
  expect(await added(merge, [rowOf(a!, 1)])).toEqual({ joined: [], grown: 0 });
  expect(await added(merge, [rowOf(b!, 1), rowOf(a!, 2)])).toEqual({ joined: [1], grown: 0 });
  // Not a number: the group gets the counts of these.
  expect(await added(merge, [rowOf(a!, NaN)])).toEqual({ joined: [0], grown: 32 });
  expect(await added(merge, [rowOf(a!, NaN)])).toEqual({ joined: [0], grown: 0 });
  // Three magnitudes: the step gets a big integer.
  expect(await added(merge, [rowOf(b!, 1e100)])).toEqual({ joined: [0], grown: 0 });
  expect(await added(merge, [rowOf(b!, 1e300)])).toEqual({ joined: [0], grown: 304 });
});

test('rows that need big integers are joined in small pieces, also while others are', async () => {
  const steps = 2_000;
  const merge = new RowMerge('sum');
  const rows = (value: number): GroupRow[] => [rowOf(a!, value, [], steps), rowOf(b!, value, [], steps)];
  await added(merge, rows(1e290));
  const pacing = new CountedTurns();
  await Promise.all([1.1, 1.7e-300, 1.7e-300, 1.1].map((value) => added(merge, rows(value), pacing)));
  expect(pacing.turns).toBeGreaterThan((2 * steps * 250) / 20_000);
  expect(Math.max(...pacing.work)).toBeLessThan(21_000);
  await added(merge, rows(-1e290));
  for (const { sums } of merge.finish()) {
    for (const step of [0, 1_234, steps - 1]) expect(sums!.sum(step)).toBe(2.2);
  }
});

test('short rows are added some fifty at once, and their work counts as before', async () => {
  const labels = Array.from({ length: 1_000 }, (_, i): Labels => [['i', `${i}`]]);
  const merge = new RowMerge('sum');
  for (const node of [1, 2]) {
    const pacing = new CountedTurns();
    const rows = labels.map((own) => rowOf(own, node, [], 3));
    const { joined } = await added(merge, rows, pacing);
    expect(joined).toHaveLength(node === 1 ? 0 : 1_000);
    expect(pacing.work.reduce((sum, work) => sum + work)).toBe(1_000 * 103);
    expect(pacing.turns).toBeGreaterThanOrEqual(20);
    expect(pacing.turns).toBeLessThan(25);
  }
  expect(merge.finish().map(({ sums }) => sums!.sum(2))).toEqual(labels.map(() => 3));
});

test('growth is held also where it comes from the row that made the group, while other rows join it', () => {
  const steps = 30_000;
  const merge = new RowMerge('sum');
  let grown = 0;
  const adding = [1e290, 1.1, 1.7e-300].map((value) =>
    merge.add([rowOf(a!, value, [], steps)], (bytes) => (grown += bytes)),
  );
  const [first, ...others] = adding;
  expect(first!.next().value).toBeLessThan(steps);
  for (const each of [...others, first!]) Array.from(each);
  expect(grown).toBe(304 * steps);
  expect(merge.finish()[0]!.sums!.extra * 16).toBe(grown);
});

test('a row may have more members with native histograms than a call has arguments', async () => {
  const column: Column = {
    labels: [],
    kinds: Uint8Array.of(0),
    values: Float64Array.of(0),
    histograms: null,
    dropName: false,
  };
  const merge = new RowMerge('sum');
  const holders = new Array<Column>(500_000).fill(column);
  await added(merge, [rowOf(a!, 1, holders)]);
  expect(merge.finish()[0]!.holders).toHaveLength(holders.length);
});
