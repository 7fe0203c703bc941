import { inLabelOrder, absent, isHistogram, type Column } from '../eval/columns.ts';
import { groupColumns } from '../eval/grouping.ts';
import { isFoldOperator, RowMerge } from '../eval/group-rows.ts';
import type { FragmentRequest, FragmentResult, Steps } from './fragment.ts';

/**
 * Joins the answers of several nodes to one fragment into one answer of the same kind, each as soon as it is there: what
 * is kept of groups is as much as one node has. Order does not matter to groups; all else comes in order of places,
 * but for the value of a whole fragment, which is one node's: its order may say something.
 */
export class PartialMerge {
  readonly #isWhole: boolean;
  readonly #groups: RowMerge;
  readonly #rest: Omit<FragmentResult, 'groups'>[] = [];

  constructor({ kind, op }: FragmentRequest) {
    this.#isWhole = kind === 'whole';
    this.#groups = new RowMerge(op !== null && isFoldOperator(op) ? op : 'count');
  }

  add(place: number, { groups, ...rest }: FragmentResult): void {
    this.#groups.add(groups);
    this.#rest[place] = rest;
  }

  finish(): FragmentResult {
    const results = this.#rest.filter((rest) => rest !== undefined);
    const columns = results.flatMap((rest) => rest.columns);
    return {
      columns: this.#isWhole ? columns : inLabelOrder(columns),
      groups: this.#groups.finish().map((group) => group.toRow()),
      annotations: results.flatMap(({ annotations }) => annotations),
      warnings: [...new Set(results.flatMap(({ warnings }) => warnings))],
      samplesRead: results.reduce((sum, { samplesRead }) => sum + samplesRead, 0),
    };
  }
}

/** Joins answers that are all there. Answers may be joined in stages; one alone is joined already. */
export function mergePartials(fragment: FragmentRequest, results: readonly FragmentResult[]): FragmentResult {
  if (results.length === 1) return results[0]!;
  const merge = new PartialMerge(fragment);
  for (const [place, result] of results.entries()) merge.add(place, result);
  return merge.finish();
}

/**
 * True when the candidates of topk or bottomk do not tell the answer: which of several equal series is chosen, or in
 * what order an instant answer shows them, depends on the series that came before and fell out.
 */
export function isUndecided(fragment: FragmentRequest, merged: FragmentResult, steps: Steps): boolean {
  const { op, grouping, without, param } = fragment;
  if (op !== 'topk' && op !== 'bottomk') return false;
  const k = Math.trunc(Number(param));
  const { groupOf, labels } = groupColumns(merged.columns, grouping, without);
  const members: Column[][] = labels.map(() => []);
  merged.columns.forEach((column, i) => members[groupOf[i]!]!.push(column));
  // An instant answer shows groups in the order of their first series, which may have been none of the candidates.
  if (steps.count === 1 && members.length > 1) return true;
  return members.some((group) => {
    for (let step = 0; step < steps.count; step++) {
      const values = ranked(op, group, step);
      const chosen = Math.min(k, values.length);
      if (chosen < values.length && same(values[chosen - 1]!, values[chosen]!)) return true;
      if (steps.count > 1) continue;
      for (let i = 1; i < chosen; i++) if (same(values[i - 1]!, values[i]!)) return true;
    }
    return false;
  });
}

const same = (a: number, b: number): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b));

/** The floats of a step, best first, NaN last. */
function ranked(op: 'topk' | 'bottomk', group: readonly Column[], step: number): number[] {
  const sign = op === 'topk' ? 1 : -1;
  const values: number[] = [];
  for (const { kinds, values: all } of group) {
    if (kinds[step] !== absent && kinds[step] !== isHistogram) values.push(all[step]!);
  }
  return values.sort((a, b) => {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return sign * (b > a ? 1 : b < a ? -1 : 0);
  });
}
