import { QueryError } from '../../errors.ts';
import { mergePartials } from '../../plan/merge-partials.ts';
import { sumsOfPacked, unpackedLabels, type PackedSums } from '../../plan/packed-rows.ts';
import { planQuery, type Fragment } from '../../plan/plan.ts';
import type { Expr } from '../../parser/ast.ts';
import type { FragmentResult } from '../../plan/fragment.ts';
import type { QueryOptions } from '../../query-options.ts';
import { Pace } from '../../../base/turns/turns.ts';
import { takeMemory, tooManySeries } from '../budget.ts';
import { isFloat } from '../columns.ts';
import type { EvalSettings } from '../context.ts';
import { resolve } from '../resolve.ts';

/** Size of a row of an answer without its numbers. Units: bytes. */
const rowBytes = 384;
/** One series of an answer costs as much as reading this many samples, because its labels are copied. */
const columnWork = 20;

export interface PackedAnswer {
  readonly sums: readonly PackedSums[];
  readonly warnings: readonly string[];
}

/**
 * The answer to `part or part or …` at one time, where each part is a sum. Elements that differ only in `label` share
 * one row: the rows of the nodes, which have this form too, are neither unpacked nor sorted, and no object is created
 * for an element. No label set may occur in two parts.
 * Guarantees: the same numbers as an engine's, bit for bit.
 * Returns null when that is not possible: a part that nodes cannot compute, native histograms, or warnings of an
 * evaluation, whose texts only an engine creates.
 * Errors: those of the nodes' answers except `execution`, for which an engine has a better message; and those of the
 * limits.
 */
export async function packedSums(
  parts: readonly Expr[],
  label: string,
  timeMs: number,
  options: QueryOptions & { settings: EvalSettings },
): Promise<PackedAnswer | null> {
  const { settings, distribution, signal, memory, turns } = options;
  if (distribution === undefined || distribution.aggregates === false) return null;
  const steps = { start: timeMs, step: 1, count: 1 };
  const span = { start: timeMs, end: timeMs, step: 0 };
  const fragments: Fragment[] = [];
  for (const part of parts) {
    const expr = resolve(part, span, '', () => 0);
    const { fragment } = planQuery(expr, { partitionLabel: distribution.partitionLabel }).root;
    if (fragment === null || (fragment.kind === 'agg' && fragment.op !== 'sum')) return null;
    fragments.push(fragment);
  }
  const asked = fragments.map(async ({ kind, expr, op, grouping, without, param }) => {
    const isPacked = kind === 'agg' && !without && grouping.includes(label);
    const fragment = { kind, expr, op, grouping, without, param, ...(isPacked ? { packed: label } : {}) };
    const results = await distribution.run(fragment, steps, settings, signal);
    return results && mergePartials(new Pace(signal, turns), fragment, results);
  });
  let answers: readonly (FragmentResult | null)[];
  try {
    answers = await Promise.all(asked);
  } catch (error) {
    const isOfData = error instanceof QueryError && error.errorType === 'execution';
    if (!isOfData || error.code === 'ERR_QUERY_LIMIT' || error.code === 'ERR_QUERY_MEMORY') throw error;
    // The engine asks again. The answers of the other parts are of no use, also those that are still on their way.
    void Promise.allSettled(asked).then((all) => {
      for (const one of all) if (one.status === 'fulfilled') memory?.give(one.value?.heldBytes ?? 0);
    });
    return null;
  }
  try {
    return await sumsOf(answers, label, options);
  } finally {
    // The sums have memory of their own.
    for (const answer of answers) memory?.give(answer?.heldBytes ?? 0);
  }
}

async function sumsOf(
  answers: readonly (FragmentResult | null)[],
  label: string,
  { signal, maxSeries = Infinity, memory, turns }: QueryOptions,
): Promise<PackedAnswer | null> {
  const merged: FragmentResult[] = [];
  for (const one of answers) {
    if (one === null || one.annotations.some(({ kind }) => kind === 'warning')) return null;
    merged.push(one);
  }
  const series = merged.reduce((sum, { seriesRead }) => sum + seriesRead, 0);
  if (series > maxSeries) throw tooManySeries(series, maxSeries);
  const sums: PackedSums[] = [];
  const pace = new Pace(signal, turns);
  for (const { groups, columns } of merged) {
    takeMemory(memory, columns.length * rowBytes);
    const own = await sumsOfPacked(pace, memory, groups, label);
    if (own === null || columns.some(({ histograms }) => histograms !== null)) return null;
    for (const one of own) sums.push(one);
    for (const { labels, kinds, values } of columns) {
      if (pace.spend(columnWork)) await pace.turn();
      if (kinds[0] === isFloat) sums.push({ ...unpackedLabels(labels, label), values });
    }
  }
  return { sums, warnings: [...new Set(merged.flatMap(({ warnings }) => warnings))] };
}
