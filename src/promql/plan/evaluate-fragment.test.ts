import { MemorySource } from '../../testing/promql/memory-source.ts';
import { parseMetric } from '../../testing/promql/series-description.ts';
import { Engine, evaluateFragment, type FragmentRequest } from '../index.ts';

const steps = { start: 0, step: 1000, count: 100 };
const series = 40;
/** Bytes of one column with a sample at each step. */
const columnBytes = 384 + 16 * steps.count;

const source = new MemorySource();
for (let i = 0; i < series; i++) source.load(parseMetric(`x{i="${i}"}`), [{ time: 0, value: i }]);
/** What the samples of the source take, which are in memory. Bytes. */
const sourceBytes = series * 16;

test.each<[op: FragmentRequest['op'], param: FragmentRequest['param'], answered: number, textBytes: number]>([
  ['topk', 1, 1, 0],
  ['limitk', 3, 3, 0],
  ['bottomk', series, series, 0],
  ['count_values', 'v', series, 16],
])(
  'a share of %s takes memory while it is computed, and at its end that of its answer',
  async (op, param, answered, textBytes) => {
    let held = 0;
    let peak = 0;
    const memory = {
      take: (bytes: number) => ((peak = Math.max(peak, (held += bytes))), null),
      give: (bytes: number) => void (held -= bytes),
    };
    const fragment = { kind: 'agg', expr: 'x', op, grouping: [], without: false, param } as const;
    const settings = new Engine().settings();
    const { columns, groups } = await evaluateFragment(fragment, source, steps, { settings, maxSamples: 1e6, memory });
    expect(columns.length + groups.length).toBe(answered);
    expect(held).toBe(sourceBytes + answered * (columnBytes + textBytes));
    expect(peak).toBeGreaterThanOrEqual(series * columnBytes + held);
  },
);
