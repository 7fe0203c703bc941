import { dropMetadata, filterLabels, isMetadata, noLabels, partialKey } from '../../labels.ts';
import type { Labels } from '../../types.ts';
import { keyWorkOf } from '../columns.ts';
import type { Pacing } from '../../../base/turns/turns.ts';

/** The output group of each input column, numbered in order of first appearance. */
export interface Grouping {
  readonly groupOf: Int32Array;
  readonly labels: readonly Labels[];
}

/** The labels that an aggregation keeps: those in `grouping`, or all others with `without`. */
export interface GroupBy {
  readonly grouping: readonly string[];
  readonly without: boolean;
}

type Branch = Map<string, Branch | number>;

/** A tree has at most this many levels: each below the first may take a Map for each group, some 200 bytes. */
const mostLevels = 4;

/**
 * Numbers the groups of label sets, in order of first appearance. For `by` with few names it walks a tree of label
 * values, one level for each name, so no key string is built for a series. Otherwise it builds a key of the labels that
 * a series has, so neither work nor memory depends on how many names are listed.
 */
export class Grouper {
  /** The labels of each group. */
  readonly labels: Labels[] = [];
  /** The names of the tree's levels; null where keys are built. */
  readonly #names: readonly string[] | null;
  /** The index at which each name was last found: series of one metric mostly have a name at the same index. */
  readonly #places: Int32Array;
  readonly #keep: (name: string) => boolean;
  readonly #strip: boolean;
  readonly #tree: Branch = new Map();

  /** `strip`: the metric's name, type and unit are ignored, also when the aggregation groups by them. */
  constructor({ grouping, without }: GroupBy, strip: boolean) {
    const names = new Set(without ? [...grouping, '__name__'] : grouping);
    this.#strip = strip;
    this.#keep = without ? (name): boolean => !names.has(name) : (name): boolean => names.has(name);
    this.#names = without || names.size > mostLevels ? null : [...names].filter((name) => !strip || !isMetadata(name));
    this.#places = new Int32Array(this.#names?.length ?? 0);
  }

  /** The number of the group that a series belongs to. */
  indexOf(labels: Labels): number {
    const names = this.#names;
    if (names === null) {
      const own = this.#strip ? dropMetadata(labels) : labels;
      return this.#leaf(this.#tree, partialKey(own, this.#keep), labels);
    }
    const last = names.length - 1;
    if (last < 0) return this.#leaf(this.#tree, '', labels);
    let branch = this.#tree;
    for (let i = 0; i < last; i++) {
      const value = this.#value(labels, names[i]!, i);
      let next = branch.get(value) as Branch | undefined;
      if (next === undefined) branch.set(value, (next = new Map()));
      branch = next;
    }
    return this.#leaf(branch, this.#value(labels, names[last]!, last), labels);
  }

  /** The work of finding the group of a series, as pacing counts it: in samples. */
  workOf(labels: Labels): number {
    return this.#names === null ? keyWorkOf(labels) : lookUpWork * (1 + this.#names.length);
  }

  #value(labels: Labels, name: string, i: number): string {
    const likely = labels[this.#places[i]!];
    if (likely !== undefined && likely[0] === name) return likely[1];
    for (let place = 0; place < labels.length; place++) {
      if (labels[place]![0] !== name) continue;
      this.#places[i] = place;
      return labels[place]![1];
    }
    return '';
  }

  #leaf(branch: Branch, key: string, labels: Labels): number {
    const known = branch.get(key);
    if (known !== undefined) return known as number;
    const group = this.labels.length;
    branch.set(key, group);
    const kept = filterLabels(this.#strip ? dropMetadata(labels) : labels, this.#keep);
    this.labels.push(kept.length === 0 ? noLabels : kept);
    return group;
  }
}

/** Pacing counts work in samples: finding a group by one label counts as this many. */
const lookUpWork = 20;

/** Assigns columns to groups. */
export async function groupColumns(
  pacing: Pacing,
  columns: readonly { readonly labels: Labels }[],
  grouping: readonly string[],
  without: boolean,
): Promise<Grouping> {
  const grouper = new Grouper({ grouping, without }, false);
  const groupOf = new Int32Array(columns.length);
  for (let i = 0; i < columns.length; i++) {
    const { labels } = columns[i]!;
    groupOf[i] = grouper.indexOf(labels);
    if (pacing.spend(grouper.workOf(labels))) await pacing.turn();
  }
  return { groupOf, labels: grouper.labels };
}
