import { MemoryPool } from '../../base/memory-pool.ts';
import { Pace, type TurnTaking } from '../../base/turns/turns.ts';
import { TurnWatch } from '../../testing/turn-watch.ts';
import type { GroupRow } from '../eval/aggregate/group-rows.ts';
import { Budget } from '../eval/budget.ts';
import { sortedLabels } from '../labels.ts';
import { packRows, sumsOfPacked } from './packed-rows.ts';

/** The longest time that a process may compute without yielding to other work. Units: ms of processor time. */
const longestCpuMs = 100;

function row(labels: Record<string, string>, values: readonly number[]): GroupRow {
  const high = Float64Array.from(values);
  const count = high.map(() => 1);
  const sums = { count, high, low: high.map(() => 0), rest: [], special: null };
  const of = sortedLabels(Object.entries(labels));
  return { labels: of, dropName: false, present: count, best: null, sums, holders: [], ignored: false };
}

const perRow = 16;
const text = (n: number): string => String(n).padStart(8, '0');

/** Rows with the same labels and disjoint bounds. */
function disjoint(rows: number): GroupRow[] {
  return Array.from({ length: rows }, (_, r) => {
    const axis = Array.from({ length: perRow }, (__, i) => text(r * perRow + i));
    return row(
      { job: 'api', le: JSON.stringify(axis) },
      axis.map(() => 1),
    );
  });
}

const budgetOf = (turns: TurnTaking, maxSamples = 1e9, signal?: AbortSignal): Budget =>
  new Budget({ maxSamples, timeoutMs: 0, monotonic: undefined, signal, turns });

test('many rows that differ only in their bounds are added up without blocking other work', async () => {
  const rows = disjoint(6_000);
  const watch = new TurnWatch();
  const sums = await sumsOfPacked(new Pace(undefined, watch), undefined, rows, 'le');
  watch.look();
  expect(sums).toHaveLength(1);
  expect(sums![0]!.axis).toHaveLength(6_000 * perRow);
  expect(sums![0]!.values.every((value) => value === 1)).toBe(true);
  expect(watch.longestMs).toBeLessThan(longestCpuMs);
});

test('summing rows ends when the query is cancelled', async () => {
  const rows = disjoint(2_000);
  const whole = new TurnWatch();
  await sumsOfPacked(new Pace(undefined, whole), undefined, rows, 'le');
  expect(whole.turns).toBeGreaterThan(10);
  for (const last of [1, Math.ceil(whole.turns / 2), whole.turns]) {
    const stop = new AbortController();
    const watch = new TurnWatch((turns) => turns === last && stop.abort(new Error('gone')));
    await expect(sumsOfPacked(new Pace(stop.signal, watch), undefined, rows, 'le')).rejects.toThrow('gone');
    expect(watch.turns).toBe(last);
  }
});

test('the memory of sums over many bounds is reserved before it is used', async () => {
  const account = new MemoryPool({ limitBytes: 1024 ** 2, freeBytes: 0 }).open('a');
  const watch = new TurnWatch();
  const run = account.run(new AbortController().signal, (lease) =>
    sumsOfPacked(new Pace(undefined, watch), lease.part(), disjoint(2_000), 'le'),
  );
  await expect(run).rejects.toMatchObject({ code: 'ERR_QUERY_LIMIT' });
  const all = new TurnWatch();
  await sumsOfPacked(new Pace(undefined, all), undefined, disjoint(2_000), 'le');
  expect(watch.turns).toBeLessThan(all.turns / 2);
});

test('many groups that differ only in le are packed in slices, until the query is cancelled', async () => {
  const groups = Array.from({ length: 20_000 }, (_, i) => row({ job: 'api', le: text(i) }, [i]));
  const watch = new TurnWatch();
  const packed = await packRows(budgetOf(watch), groups, 'le', 1);
  watch.look();
  expect(packed).toHaveLength(Math.ceil(groups.length / 256));
  expect(watch.longestMs).toBeLessThan(longestCpuMs);
  expect(watch.turns).toBeGreaterThan(10);
  const stop = new AbortController();
  const cut = new TurnWatch((turns) => turns === 5 && stop.abort());
  await expect(packRows(budgetOf(cut, 1e9, stop.signal), groups, 'le', 1)).rejects.toMatchObject({
    errorType: 'canceled',
  });
  expect(cut.turns).toBe(5);
});

test('the memory of packed rows is counted, and refused beyond the limit of the query', async () => {
  const groups = Array.from({ length: 200 }, (_, i) => row({ le: text(i) }, Array(1_000).fill(i)));
  const turns = new TurnWatch();
  const budget = budgetOf(turns);
  await packRows(budget, groups, 'le', 1_000);
  // Three columns of doubles. The budget counts in samples, and a sample is as large as two doubles.
  expect(budget.peak).toBeGreaterThanOrEqual((3 * 200 * 1_000) / 2);
  await expect(packRows(budgetOf(turns, 1_000), groups, 'le', 1_000)).rejects.toMatchObject({
    code: 'ERR_QUERY_LIMIT',
  });
});

test('two very long texts of bounds do not share a row', async () => {
  const long = 'x'.repeat(40_000);
  const groups = ['a', 'b', `c${long}`, `d${long}`].map((le) => row({ le }, [1]));
  const packed = await packRows(budgetOf(new TurnWatch()), groups, 'le', 1);
  expect(packed.map(({ present }) => present.length)).toEqual([3, 1]);
  expect(await sumsOfPacked(new Pace(), undefined, packed, 'le')).toMatchObject([{ axis: { length: 4 } }]);
});
