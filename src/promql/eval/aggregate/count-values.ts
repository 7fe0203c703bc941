import { executionError } from '../../errors.ts';
import { histogramText } from '../../histogram/text.ts';
import { filterLabels, labelsKey, noLabels, setLabel, textLength } from '../../labels.ts';
import type { AggregateExpr } from '../../parser/ast.ts';
import { formatFloatPlain } from '../../parser/printer.ts';
import { isValidName, quote } from '../../parser/strings.ts';
import type { Labels } from '../../types.ts';
import { ColumnBuilder, absent, isHistogram, leastWeight, type Column } from '../columns.ts';
import { sampleBytes } from '../budget.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { labelsWithin } from '../made-labels.ts';
import { histogramWork } from '../histogram-work.ts';

/** Turning a sample's value into a label costs as much as reading this many samples. */
const labelWork = 200;

/** count_values: how many series of each group have each value; the value becomes a label. */
export async function countValues(
  context: EvalContext,
  expr: AggregateExpr,
  label: string,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  const { budget } = context;
  if (!isValidName(label)) throw executionError(`invalid label name ${quote(label)}`);
  const names = new Set(expr.without ? [...expr.grouping, '__name__'] : [...expr.grouping, label]);
  const keep = (name: string): boolean => names.has(name) !== expr.without;
  const found = new Map<string, { labels: Labels; counts: Float64Array }>();
  const weight = leastWeight(1, 0) + Math.ceil((frame.count * 8) / sampleBytes);
  for (const column of columns) {
    const work = labelWork + textLength(column.labels);
    if (budget.spend(frame.count)) await budget.turn();
    for (let step = 0; step < frame.count; step++) {
      if (column.kinds[step] === absent) continue;
      const histogram = column.kinds[step] === isHistogram ? column.histograms![step]! : null;
      if (budget.spend(work + histogramWork(histogram))) await budget.turn();
      const text = histogram === null ? formatFloatPlain(column.values[step]!) : histogramText(histogram);
      const all = filterLabels(setLabel(column.labels, label, text), keep);
      const labels = all.length === 0 ? noLabels : labelsWithin(all);
      const key = labelsKey(labels);
      let entry = found.get(key);
      if (entry === undefined) {
        budget.hold(weight + Math.ceil(text.length / sampleBytes));
        found.set(key, (entry = { labels, counts: new Float64Array(frame.count) }));
      }
      entry.counts[step]!++;
    }
  }
  const result: Column[] = [];
  for (const { labels, counts } of found.values()) {
    const builder = new ColumnBuilder(frame.count);
    for (let step = 0; step < frame.count; step++) if (counts[step]! > 0) builder.setFloat(step, counts[step]!);
    result.push(builder.build(labels));
    if (budget.spend(2 * frame.count + labelWork)) await budget.turn();
  }
  budget.release(found.size * weight);
  return result;
}
