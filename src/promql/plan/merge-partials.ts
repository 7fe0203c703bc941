import { inLabelOrder, absent, isHistogram, type Column } from '../eval/columns.ts';
import { groupColumns } from '../eval/aggregate/grouping.ts';
import { isFoldOperator, RowMerge, rowsOf } from '../eval/aggregate/group-rows.ts';
import { SampleCounter } from '../eval/sample-counter.ts';
import type { SampleCounts } from '../types.ts';
import { inTurns, type Pacing } from '../../base/turns/turns.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import type { FragmentRequest, FragmentResult, Steps } from './fragment.ts';

/**
 * Merges the answers of several nodes to one fragment into one answer of the same kind. It adds each answer as soon as
 * it arrives, so a group that several nodes answer with takes the memory of one group. The order of groups does not
 * matter; annotations and warnings are in the order of `place`, columns in label order. The columns of a fragment of
 * kind `whole` come from one node and keep their order, which may be significant.
 */
export class PartialMerge {
  readonly #isWhole: boolean;
  readonly #groups: RowMerge;
  readonly #rest: Omit<FragmentResult, 'groups'>[] = [];

  constructor({ kind, op }: FragmentRequest) {
    this.#isWhole = kind === 'whole';
    this.#groups = new RowMerge(op !== null && isFoldOperator(op) ? op : 'count');
  }

  /**
   * Adds an answer; several may be added at the same time. Returns the indexes of its groups that take no memory any
   * more but for their native histograms. `hold` is called for the bytes by which groups have grown.
   */
  add(pacing: Pacing, place: number, answer: FragmentResult, hold: (bytes: number) => void): Promise<number[]> {
    const { groups, ...rest } = answer;
    this.#rest[place] = rest;
    return inTurns(pacing, this.#groups.add(groups, hold));
  }

  async finish(pacing: Pacing): Promise<FragmentResult> {
    const results = this.#rest.filter((rest) => rest !== undefined);
    const columns = results.flatMap((rest) => rest.columns);
    const groups = await inTurns(pacing, rowsOf(this.#groups.finish()));
    return {
      columns: this.#isWhole ? columns : await inLabelOrder(pacing, columns),
      groups,
      annotations: results.flatMap(({ annotations }) => annotations),
      warnings: [...new Set(results.flatMap(({ warnings }) => warnings))],
      omittedWarnings: results.reduce((sum, { omittedWarnings }) => sum + omittedWarnings, 0),
      omittedInfos: results.reduce((sum, { omittedInfos }) => sum + omittedInfos, 0),
      samplesRead: results.reduce((sum, { samplesRead }) => sum + samplesRead, 0),
      seriesRead: results.reduce((sum, { seriesRead }) => sum + seriesRead, 0),
      heldBytes: results.reduce((sum, { heldBytes = 0 }) => sum + heldBytes, 0),
      samples: addedSamples(results.flatMap(({ samples }) => samples ?? [])),
    };
  }
}

function addedSamples(all: readonly SampleCounts[]): SampleCounts | undefined {
  if (all.length === 0) return undefined;
  const sum = new SampleCounter(all[0]!.read.length);
  for (const counts of all) sum.add(counts);
  return sum;
}

/** Merges answers that have all arrived. Answers may be merged in stages; a single one needs no merge. */
export async function mergePartials(
  pacing: Pacing,
  fragment: FragmentRequest,
  results: readonly FragmentResult[],
): Promise<FragmentResult> {
  if (results.length === 1) return results[0]!;
  const merge = new PartialMerge(fragment);
  for (const [place, result] of results.entries()) {
    await merge.add(pacing, place, result, () => undefined);
  }
  return merge.finish(pacing);
}

/**
 * True when the candidates of topk or bottomk do not determine the answer: which of several equal series is chosen, or
 * in which order an instant answer shows them, depends on earlier series that are no longer candidates.
 */
export async function isUndecided(
  pacing: Pacing,
  fragment: FragmentRequest,
  merged: FragmentResult,
  steps: Steps,
): Promise<boolean> {
  const { op, grouping, without, param } = fragment;
  if (op !== 'topk' && op !== 'bottomk') return false;
  const k = Math.trunc(Number(param));
  const { groupOf, labels } = await groupColumns(pacing, merged.columns, grouping, without);
  const members: Column[][] = labels.map(() => []);
  merged.columns.forEach((column, i) => members[groupOf[i]!]!.push(column));
  // An instant answer shows groups in the order of their first series, which may not be among the candidates.
  if (steps.count === 1 && members.length > 1) return true;
  for (const group of members) {
    for (let step = 0; step < steps.count; step++) {
      const values = await ranked(pacing, op, group, step);
      const chosen = Math.min(k, values.length);
      if (chosen < values.length && same(values[chosen - 1]!, values[chosen]!)) return true;
      if (steps.count > 1) continue;
      for (let i = 1; i < chosen; i++) if (same(values[i - 1]!, values[i]!)) return true;
    }
  }
  return false;
}

const same = (a: number, b: number): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b));

/** The floats of a step, best first, NaN last. */
async function ranked(
  pacing: Pacing,
  op: 'topk' | 'bottomk',
  group: readonly Column[],
  step: number,
): Promise<number[]> {
  const sign = op === 'topk' ? 1 : -1;
  const values: number[] = [];
  for (const { kinds, values: all } of group) {
    if (kinds[step] !== absent && kinds[step] !== isHistogram) values.push(all[step]!);
    if (pacing.spend(2)) await pacing.turn();
  }
  const compare = (a: number, b: number): number => {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return sign * (b > a ? 1 : b < a ? -1 : 0);
  };
  return sortInTurns(pacing, values, compare, 5);
}
