import type { Position } from '../../errors.ts';
import { histogramFraction, histogramQuantile } from '../../histogram/quantile.ts';
import { filterLabels, labelsKey, labelValue, metricName, partialKey } from '../../labels.ts';
import type { Labels } from '../../types.ts';
import { Results } from '../settle.ts';
import { ColumnBuilder, isFloat, isHistogram, keyWorkOf, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { bucketFraction, bucketQuantile, type ClassicBuckets } from './classic-histogram.ts';
import { histogramWork } from '../histogram-work.ts';
import { decimalSource } from '../../../base/text/decimal.ts';
import { sortInTurns } from '../../../base/turns/sort-in-turns.ts';
import { nameless } from './elementwise.ts';

const fewBuckets = 512;

/** One series with its parsed `le`. */
interface BoundedColumn {
  readonly bound: number;
  readonly column: Column;
}

/** The parts of one histogram: its classic buckets sorted by bound, and its native histograms. */
interface HistogramGroup {
  readonly labels: Labels;
  readonly dropName: boolean;
  buckets: BoundedColumn[];
  readonly natives: Column[];
}

/** How the result of a step is computed: from classic buckets, or from a native histogram. */
interface Computation {
  readonly classic: (buckets: ClassicBuckets, step: number, metric: string) => number;
  readonly native: (column: Column, step: number, metric: string) => number;
}

/** histogram_quantile for classic buckets and native histograms. */
export async function histogramQuantiles(
  context: EvalContext,
  columns: readonly Column[],
  quantiles: Float64Array,
  frame: Frame,
  position: Position,
): Promise<Column[]> {
  return overGroups(context, columns, frame, position, {
    classic: (buckets, step, metric) => {
      const { value, fixed } = bucketQuantile(quantiles[step]!, buckets);
      if (fixed !== null) {
        context.annotations.forcedMonotonicity(metric, position, frame.start + step * frame.step, fixed);
      }
      return value;
    },
    native: (column, step, metric) =>
      histogramQuantile(quantiles[step]!, column.histograms![step]!, (message) => {
        context.annotations.info(`${message}${forMetric(metric)}`, position);
      }),
  });
}

/** histogram_fraction for classic buckets and native histograms. */
export async function histogramFractions(
  context: EvalContext,
  columns: readonly Column[],
  lower: Float64Array,
  upper: Float64Array,
  frame: Frame,
  position: Position,
): Promise<Column[]> {
  return overGroups(context, columns, frame, position, {
    classic: (buckets, step) => bucketFraction(lower[step]!, upper[step]!, buckets),
    native: (column, step, metric) =>
      histogramFraction(lower[step]!, upper[step]!, column.histograms![step]!, (message) => {
        context.annotations.info(`${message}${forMetric(metric)}`, position);
      }),
  });
}

async function overGroups(
  context: EvalContext,
  columns: readonly Column[],
  frame: Frame,
  position: Position,
  compute: Computation,
): Promise<Column[]> {
  const result = new Results(context, frame);
  const delayed = context.settings.delayedNameRemoval;
  for (const group of await groupHistograms(context, columns, position)) {
    const classic = new ColumnBuilder(frame.count);
    const native = new ColumnBuilder(frame.count);
    const metric = delayed ? metricName(group.labels) : '';
    const size = group.buckets.length;
    const buckets: ClassicBuckets = { bounds: new Float64Array(size), counts: new Float64Array(size), length: 0 };
    for (let step = 0; step < frame.count; step++) {
      buckets.length = 0;
      for (const { bound, column } of group.buckets) {
        if (column.kinds[step] !== isFloat) continue;
        buckets.bounds[buckets.length] = bound;
        buckets.counts[buckets.length++] = column.values[step]!;
      }
      const holder = group.natives.find((column) => column.kinds[step] === isHistogram);
      if (buckets.length > 0 && holder !== undefined) {
        context.annotations.warn(
          `vector contains a mix of classic and native histograms${forMetric(metric)}`,
          position,
        );
      } else if (buckets.length > 0) classic.setFloat(step, compute.classic(buckets, step, metric));
      else if (holder !== undefined) native.setFloat(step, compute.native(holder, step, metric));
      const read = holder === undefined ? null : holder.histograms![step]!;
      if (context.budget.spend(size + group.natives.length + histogramWork(read) + 1)) await context.budget.turn();
    }
    const labels = nameless(context, { ...group, kinds: classic.kinds, values: classic.values, histograms: null });
    for (const builder of [native, classic]) result.add(builder, labels, true);
  }
  return result.settled();
}

async function groupHistograms(
  context: EvalContext,
  columns: readonly Column[],
  position: Position,
): Promise<HistogramGroup[]> {
  const groups = new Map<string, HistogramGroup>();
  const notLe = (name: string): boolean => name !== 'le';
  const groupFor = (key: string, labels: () => Labels): HistogramGroup => {
    let group = groups.get(key);
    if (group === undefined) {
      groups.set(key, (group = { labels: labels(), dropName: true, buckets: [], natives: [] }));
    }
    return group;
  };
  for (const column of columns) {
    if (context.budget.spend(keyWorkOf(column.labels))) await context.budget.turn();
    if (column.histograms !== null) {
      groupFor(labelsKey(column.labels), () => column.labels).natives.push(column);
      if (!column.kinds.includes(isFloat)) continue;
    }
    const text = labelValue(column.labels, 'le');
    const bound = parseBound(text);
    if (bound === null) {
      const metric = context.settings.delayedNameRemoval ? metricName(column.labels) : '';
      context.annotations.warn(
        `bucket label "le" is missing or has a malformed value of ${JSON.stringify(text)}${forMetric(metric)}`,
        position,
      );
      continue;
    }
    const key = partialKey(column.labels, notLe);
    groupFor(key, () => filterLabels(column.labels, notLe)).buckets.push({ bound, column });
  }
  const found = [...groups.values()];
  const compare = (a: BoundedColumn, b: BoundedColumn): number => (a.bound < b.bound ? -1 : a.bound > b.bound ? 1 : 0);
  for (const group of found) {
    const { buckets } = group;
    // Most histograms have a handful of buckets, which are sorted in place.
    if (buckets.length <= fewBuckets) buckets.sort(compare);
    else group.buckets = await sortInTurns(context.budget, buckets, compare, 5);
    if (context.budget.spend(10 * buckets.length)) await context.budget.turn();
  }
  return found;
}

const forMetric = (name: string): string => (name === '' ? '' : ` for metric name ${JSON.stringify(name)}`);

const decimal = new RegExp(`^[+-]?${decimalSource}$`);

/** The number in an `le` label as Go parses floats; null for any other text. */
export function parseBound(text: string): number | null {
  const plain = text.toLowerCase();
  const special = /^([+-]?)(inf|infinity|nan)$/.exec(plain);
  if (special !== null) return special[2] === 'nan' ? NaN : special[1] === '-' ? -Infinity : Infinity;
  return decimal.test(plain) ? Number(plain) : null;
}
