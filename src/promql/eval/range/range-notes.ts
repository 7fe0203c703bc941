import { formatFloatG } from '../../format.ts';
import { labelValue, metricName } from '../../labels.ts';
import type { Expr } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import { absent, type ColumnBuilder } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';

/** Suffixes of names that are taken for counters. */
const counterSuffix = /_(?:total|sum|count|bucket)$/;

/** Annotates a rate of a metric that may not be a counter. */
export function askWhetherCounter(context: EvalContext, labels: Labels, builder: ColumnBuilder, arg: Expr): void {
  const name = metricName(labels);
  if (name === '' || (builder.histograms !== null && !builder.kinds.includes(1))) return;
  if (context.settings.typeAndUnitLabels) {
    const type = labelValue(labels, '__type__');
    if (type === 'counter' || type === 'histogram') return;
    const wanted = 'metric might not be a counter, __type__ label is not set to "counter" or "histogram"';
    context.annotations.info(`${wanted}, got ${JSON.stringify(type)}: ${JSON.stringify(name)}`, positionOf(arg));
  } else if (!counterSuffix.test(name)) {
    context.annotations.info(
      `metric might not be a counter, name does not end in _total/_sum/_count/_bucket: ${JSON.stringify(name)}`,
      positionOf(arg),
    );
  }
}

/** Making a warning costs as much as the work on this many samples. */
const warningWork = 100;

/** Warns about invalid quantiles, at all steps or at those that have a result. */
export async function warnInvalidQuantiles(
  context: EvalContext,
  quantiles: Float64Array,
  arg: Expr,
  kinds?: Uint8Array,
): Promise<void> {
  let warned: number | undefined;
  for (let step = 0; step < quantiles.length; step++) {
    const q = quantiles[step]!;
    if (kinds?.[step] === absent || Object.is(q, warned)) continue;
    warnInvalidQuantile(context, (warned = q), arg);
    if (context.budget.spend(warningWork)) await context.budget.turn();
  }
}

/** Warns about a quantile outside [0, 1]. */
export function warnInvalidQuantile(context: EvalContext, q: number, arg: Expr): void {
  if (q >= 0 && q <= 1) return;
  context.annotations.warn(`quantile value should be between 0 and 1, got ${formatFloatG(q)}`, positionOf(arg));
}
