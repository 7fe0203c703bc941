import { filterLabels, noLabels, partialKey } from '../labels.ts';
import type { Labels } from '../types.ts';

/** Which output group each input column belongs to, in order of first appearance. */
export interface Grouping {
  readonly groupOf: Int32Array;
  readonly labels: readonly Labels[];
}

/** Assigns columns to groups. */
export function groupColumns(
  columns: readonly { readonly labels: Labels }[],
  names: readonly string[],
  without: boolean,
): Grouping {
  const set = new Set(without ? [...names, '__name__'] : names);
  const keep = without ? (name: string): boolean => !set.has(name) : (name: string): boolean => set.has(name);
  const groupOf = new Int32Array(columns.length);
  const labels: Labels[] = [];
  const known = new Map<string, number>();
  columns.forEach((column, i) => {
    const key = !without && names.length === 0 ? '' : partialKey(column.labels, keep);
    let group = known.get(key);
    if (group === undefined) {
      group = labels.length;
      known.set(key, group);
      labels.push(key === '' ? noLabels : filterLabels(column.labels, keep));
    }
    groupOf[i] = group;
  });
  return { groupOf, labels };
}
