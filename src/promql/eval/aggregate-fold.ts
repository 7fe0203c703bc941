import type { AggregateExpr } from '../parser/ast.ts';
import { foldHistograms } from './aggregate-histograms.ts';
import { groupColumns } from './aggregate.ts';
import { ColumnBuilder, isFloat, type Column } from './columns.ts';
import { positionOf, type EvalContext } from './context.ts';
import type { Frame } from './frame.ts';

/** Running state of one group over all steps. */
class GroupState {
  readonly count: Float64Array;
  readonly value: Float64Array;
  readonly extra: Float64Array;
  /** avg: 1 once the sum would have overflowed and a running mean took over. */
  readonly running: Uint8Array;
  dropName = false;
  hasHistograms = false;
  readonly members: Column[] = [];

  constructor(steps: number) {
    this.count = new Float64Array(steps);
    this.value = new Float64Array(steps);
    this.extra = new Float64Array(steps);
    this.running = new Uint8Array(steps);
  }
}

type Fold = (state: GroupState, column: Column) => void;

/** Neumaier's compensated sum; the compensation is dropped when the sum becomes infinite. */
const foldSum: Fold = ({ count, value, extra }, { kinds, values }) => {
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] !== isFloat) continue;
    const v = values[i]!;
    if (count[i] === 0) {
      count[i] = 1;
      value[i] = v;
      continue;
    }
    count[i]!++;
    const sum = value[i]!;
    const total = sum + v;
    if (total === Infinity || total === -Infinity) extra[i] = 0;
    else if (Math.abs(sum) >= Math.abs(v)) extra[i]! += sum - total + v;
    else extra[i]! += v - total + sum;
    value[i] = total;
  }
};

const foldAvg: Fold = ({ count, value, extra, running }, { kinds, values }) => {
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] !== isFloat) continue;
    const v = values[i]!;
    const n = ++count[i]!;
    if (n === 1) {
      value[i] = v;
      continue;
    }
    if (running[i] === 0) {
      const sum = value[i]!;
      const total = sum + v;
      if (total !== Infinity && total !== -Infinity) {
        if (Math.abs(sum) >= Math.abs(v)) extra[i]! += sum - total + v;
        else extra[i]! += v - total + sum;
        value[i] = total;
        continue;
      }
      running[i] = 1;
      value[i] = sum / (n - 1);
      extra[i]! /= n - 1;
    }
    const share = (n - 1) / n;
    const mean = share * value[i]!;
    const part = v / n;
    const total = mean + part;
    const compensation = share * extra[i]!;
    if (total === Infinity || total === -Infinity) extra[i] = 0;
    else if (Math.abs(mean) >= Math.abs(part)) extra[i] = compensation + (mean - total + part);
    else extra[i] = compensation + (part - total + mean);
    value[i] = total;
  }
};

const foldCount: Fold = ({ count }, { kinds }) => {
  for (let i = 0; i < kinds.length; i++) if (kinds[i] !== 0) count[i]!++;
};

const foldMin: Fold = ({ count, value }, { kinds, values }) => {
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] !== isFloat) continue;
    const best = value[i]!;
    if (count[i]!++ === 0 || best > values[i]! || best !== best) value[i] = values[i]!;
  }
};

const foldMax: Fold = ({ count, value }, { kinds, values }) => {
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] !== isFloat) continue;
    const best = value[i]!;
    if (count[i]!++ === 0 || best < values[i]! || best !== best) value[i] = values[i]!;
  }
};

/** Welford: `extra` is the mean, `value` the sum of squared deviations. */
const foldVariance: Fold = ({ count, value, extra }, { kinds, values }) => {
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] !== isFloat) continue;
    const v = values[i]!;
    const n = ++count[i]!;
    if (n === 1) {
      extra[i] = v;
      value[i] = Number.isFinite(v) ? 0 : NaN;
      continue;
    }
    const delta = v - extra[i]!;
    extra[i]! += delta / n;
    value[i]! += delta * (v - extra[i]!);
  }
};

const folds: Record<string, { fold: Fold; finish: (state: GroupState, i: number) => number }> = {
  sum: { fold: foldSum, finish: ({ value, extra }, i) => value[i]! + extra[i]! },
  avg: {
    fold: foldAvg,
    finish: ({ value, extra, count, running }, i) =>
      running[i] === 1 ? value[i]! + extra[i]! : value[i]! / count[i]! + extra[i]! / count[i]!,
  },
  count: { fold: foldCount, finish: ({ count }, i) => count[i]! },
  group: { fold: foldCount, finish: () => 1 },
  min: { fold: foldMin, finish: ({ value }, i) => value[i]! },
  max: { fold: foldMax, finish: ({ value }, i) => value[i]! },
  stdvar: { fold: foldVariance, finish: ({ value, count }, i) => value[i]! / count[i]! },
  stddev: { fold: foldVariance, finish: ({ value, count }, i) => Math.sqrt(value[i]! / count[i]!) },
};

/** sum, avg, count, group, min, max, stddev and stdvar. */
export async function foldGroups(
  context: EvalContext,
  expr: AggregateExpr,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  const { fold, finish } = folds[expr.op]!;
  const { groupOf, labels } = groupColumns(columns, expr.grouping, expr.without);
  const states = labels.map(() => new GroupState(frame.count));
  for (const [c, column] of columns.entries()) {
    const state = states[groupOf[c]!]!;
    state.dropName ||= column.dropName;
    if (column.histograms !== null) state.hasHistograms = true;
    state.members.push(column);
    fold(state, column);
    if (context.budget.spend(frame.count)) await context.budget.turn();
  }
  const result: Column[] = [];
  for (const [g, state] of states.entries()) {
    const builder = new ColumnBuilder(frame.count);
    if (state.hasHistograms && (expr.op === 'sum' || expr.op === 'avg')) {
      foldHistograms(context, expr, state.members, (step) => finish(state, step), builder);
    } else {
      for (let i = 0; i < frame.count; i++) if (state.count[i]! > 0) builder.setFloat(i, finish(state, i));
      if (state.hasHistograms && expr.op !== 'count' && expr.op !== 'group') tellIgnored(context, expr);
    }
    if (builder.points > 0) result.push(builder.build(labels[g]!, state.dropName));
  }
  return result;
}

function tellIgnored(context: EvalContext, expr: AggregateExpr): void {
  context.annotations.info(`ignored histogram in ${expr.op} aggregation`, positionOf(expr.expr));
}
