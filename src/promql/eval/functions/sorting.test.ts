import { parseMetric } from '../../../testing/promql/series-description.ts';
import { ColumnBuilder, type Column } from '../columns.ts';
import { sortByLabels } from './sorting.ts';

const columnOf = (metric: string): Column => new ColumnBuilder(1).build(parseMetric(metric), false);
const columns = Array.from({ length: 300 }, (_, i) => columnOf(`x{pod="pod-${(i * 7) % 300}",part="${i % 3}"}`));

/** Sorts. Returns the pods in order, and the work of it. */
async function sorted(names: readonly string[], of = columns): Promise<{ pods: string[]; work: number }> {
  let work = 0;
  const pacing = { spend: (more: number) => ((work += more), false), turn: () => Promise.resolve() };
  const found = await sortByLabels(pacing, of, names, false);
  return { pods: found.map(({ labels }) => labels.find(([name]) => name === 'pod')![1]), work };
}

test('sort_by_label() looks at a label once, and not at all if no series has it', async () => {
  const few = await sorted(['part', 'pod']);
  expect(few.pods.slice(0, 3)).toEqual(['pod-0', 'pod-3', 'pod-6']);
  const others = Array.from({ length: 10_000 }, (_, i) => `l${i}`);
  const repeated = Array.from({ length: 10_000 }, () => 'part');
  expect(await sorted([...others, 'part', ...repeated, 'pod'])).toEqual(few);
});

test('the work of sort_by_label() grows with the length of the values', async () => {
  const long = columns.map((column) => ({ ...column, labels: parseMetric(`x{pod="${'a1'.repeat(2_000)}"}`) }));
  expect((await sorted(['pod'], long)).work).toBeGreaterThan(100 * (await sorted(['pod'])).work);
});
