import { QueryError } from '../errors.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import { compareLabels, dropMetadata, labelsKey, metricName, textLength } from '../labels.ts';
import type { Labels } from '../types.ts';
import { sampleBytes, type Budget } from './budget.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';

/** What a step of a column contains: nothing, a float or a histogram. */
export const absent = 0;
export const isFloat = 1;
export const isHistogram = 2;

/**
 * One series of an evaluated expression over all steps of a frame: those of the query, or of a subquery.
 * Shape: `kinds[i]` is the sample type of step i; `values[i]` is valid for a float, `histograms[i]` for a histogram.
 * `histograms` is null as long as there is none, so that float queries do not pay for them.
 */
export interface Column {
  readonly labels: Labels;
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
  readonly histograms: (FloatHistogram | null)[] | null;
  /** The metric's name is to be removed at the end (delayed name removal). */
  readonly dropName: boolean;
}

/** The value of an expression over a frame. */
export type Value =
  | { readonly kind: 'scalar'; readonly values: Float64Array }
  | { readonly kind: 'vector'; readonly columns: Column[] }
  | { readonly kind: 'string'; readonly text: string };

/** An empty column to be filled step by step. */
export class ColumnBuilder {
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
  histograms: (FloatHistogram | null)[] | null = null;
  /** Number of steps with a sample. */
  points = 0;

  constructor(steps: number) {
    this.kinds = new Uint8Array(steps);
    this.values = new Float64Array(steps);
  }

  /** Empties the builder for another series; columns built from it before become invalid. */
  clear(): void {
    if (this.points === 0) return;
    this.kinds.fill(absent);
    this.histograms = null;
    this.points = 0;
  }

  setFloat(step: number, value: number): void {
    this.kinds[step] = isFloat;
    this.values[step] = value;
    this.points++;
  }

  setHistogram(step: number, histogram: FloatHistogram): void {
    this.kinds[step] = isHistogram;
    this.histograms ??= new Array<FloatHistogram | null>(this.kinds.length).fill(null);
    this.histograms[step] = histogram;
    this.points++;
  }

  /** Copies a step of another column. The step must not be empty. */
  copy(step: number, from: Column): void {
    if (from.kinds[step] === isHistogram) this.setHistogram(step, from.histograms![step]!);
    else this.setFloat(step, from.values[step]!);
  }

  build(labels: Labels, dropName = false): Column {
    return { labels, kinds: this.kinds, values: this.values, histograms: this.histograms, dropName };
  }
}

/** Number of steps of a column with a sample. */
export function countPoints(column: Column): number {
  let points = 0;
  for (const kind of column.kinds) if (kind !== absent) points++;
  return points;
}

/** 1 for each step at which any of the columns has a sample. */
export async function occupied(budget: Pacing, columns: readonly Column[], steps: number): Promise<Uint8Array> {
  const there = new Uint8Array(steps);
  for (const { kinds } of columns) {
    for (let i = 0; i < steps; i++) if (kinds[i] !== absent) there[i] = 1;
    if (budget.spend(steps)) await budget.turn();
  }
  return there;
}

/** Memory of a histogram without its buckets, in units of one float sample; each bucket counts as one more. */
const bareHistogram = 12;

/** Memory of a sample's histogram, in units of one float sample. Two custom bounds count as one. */
export function histogramWeight({ positive, negative, customValues }: FloatHistogram): number {
  return bareHistogram + positive.counts.length + negative.counts.length + Math.ceil(customValues.length / 2);
}

/** Memory of a column without its steps (its objects and its list of labels), in units of one float sample. */
const bareColumn = 24;

/** Memory of a column in a budget: its points, or its buffers when few steps have a sample. */
export function weightOf({ kinds, histograms }: Pick<Column, 'kinds' | 'histograms'>): number {
  let points = 0;
  for (const kind of kinds) if (kind !== absent) points++;
  let weight = bareColumn + Math.max(points, bufferWeight(kinds.length));
  for (const histogram of histograms ?? []) if (histogram !== null) weight += histogramWeight(histogram);
  return weight;
}

/** Memory of the empty buffers of a column: a kind and a value for each step. */
export function bufferWeight(steps: number): number {
  return Math.floor((steps * 9) / sampleBytes);
}

/** The least memory of this many columns. */
export function leastWeight(columns: number, steps: number): number {
  return columns * (bareColumn + bufferWeight(steps));
}

/** Memory of a scalar: a value for each step. */
export function scalarWeight(steps: number): number {
  return Math.ceil((steps * 8) / sampleBytes);
}

/** Charges the memory of new columns to the budget; `takenBytes` were taken for them from the same memory before. */
export async function holdColumns(budget: Budget, columns: readonly Column[], takenBytes = 0): Promise<void> {
  let left = takenBytes;
  for (const column of columns) {
    const weight = weightOf(column);
    const taken = Math.min(left, weight * sampleBytes);
    budget.hold(weight, taken);
    left -= taken;
    if (budget.spend(column.kinds.length)) await budget.turn();
  }
  if (left > 0) budget.hold(0, left);
}

/** Gives the memory of columns back to the budget. */
export async function releaseColumns(budget: Budget, columns: readonly Column[]): Promise<void> {
  for (const column of columns) {
    budget.release(weightOf(column));
    if (budget.spend(column.kinds.length)) await budget.turn();
  }
}

/** Pacing counts work in samples: building a key of labels counts as this many, and one more for each character. */
export const keyWork = 100;

/** The work of building a key of all labels, or of some of them. */
export function keyWorkOf(labels: Labels): number {
  return keyWork + textLength(labels);
}

export function sameLabelset(): QueryError {
  return new QueryError('execution', 'vector cannot contain metrics with the same labelset');
}

const underscore = 0x5f;

/**
 * True when all columns carry the same metric name and no type or unit, so that dropping these labels cannot make two
 * columns equal.
 */
export function haveOneName(columns: readonly { readonly labels: Labels }[]): boolean {
  if (columns.length < 2) return true;
  const name = metricName(columns[0]!.labels);
  for (const { labels } of columns) {
    let own = '';
    for (const [label, value] of labels) {
      // Labels are sorted: no wanted name follows a name that begins with a character above `_`.
      if (label.charCodeAt(0) > underscore) break;
      if (label === '__name__') own = value;
      else if (label === '__type__' || label === '__unit__') return false;
    }
    if (own !== name) return false;
  }
  return true;
}

/** Fails when two columns have equal labels, even if they have samples at different steps. */
export async function refuseDuplicates(budget: Budget, columns: readonly Column[]): Promise<void> {
  if (columns.length < 2) return;
  const seen = new Set<string>();
  for (const { labels } of columns) {
    seen.add(labelsKey(labels));
    if (budget.spend(keyWorkOf(labels))) await budget.turn();
  }
  if (seen.size !== columns.length) throw sameLabelset();
}

/**
 * Joins columns with equal labels into one.
 * Errors: `execution` when two of them have a sample at the same step.
 */
export async function mergeDuplicates(budget: Budget, columns: Column[]): Promise<Column[]> {
  if (columns.length < 2) return columns;
  const byKey = new Map<string, Column>();
  for (const column of columns) {
    const key = labelsKey(column.labels);
    const known = byKey.get(key);
    byKey.set(key, known === undefined ? column : joined(known, column));
    const work = keyWorkOf(column.labels);
    if (budget.spend(known === undefined ? work : work + column.kinds.length)) await budget.turn();
  }
  return byKey.size === columns.length ? columns : [...byKey.values()];
}

/** One column of two with equal labels. Errors: `execution` when both have a sample at the same step. */
export function joined(a: Column, b: Column): Column {
  const builder = new ColumnBuilder(a.kinds.length);
  for (let step = 0; step < a.kinds.length; step++) {
    const inA = a.kinds[step] !== absent;
    const inB = b.kinds[step] !== absent;
    if (inA && inB) throw sameLabelset();
    if (inA) builder.copy(step, a);
    else if (inB) builder.copy(step, b);
  }
  return builder.build(a.labels, a.dropName);
}

/** Removes the names whose removal was delayed. Errors: `execution` when two columns become equal at a step. */
export function removeDelayedNames(budget: Budget, columns: Column[]): Promise<Column[]> {
  const cleaned = columns.map((column) =>
    column.dropName ? { ...column, labels: dropMetadata(column.labels), dropName: false } : column,
  );
  return mergeDuplicates(budget, cleaned);
}

/**
 * The columns in label order, unchanged when they are sorted already. Operations that depend on the order of their
 * input use this function, so that an answer does not depend on where its series were computed.
 */
export async function inLabelOrder<T extends { readonly labels: Labels }>(
  budget: Pacing,
  columns: readonly T[],
): Promise<readonly T[]> {
  for (let i = 1; i < columns.length; i++) {
    const { labels } = columns[i]!;
    if (compareLabels(columns[i - 1]!.labels, labels) > 0) return sortColumns(budget, columns);
    if (budget.spend(Math.max(compareWork, textLength(labels) / charactersPerWork))) await budget.turn();
  }
  return columns;
}

/** Pacing counts work in samples: comparing two label sets counts as at least this many, and as one for 8 characters. */
const compareWork = 20;
const charactersPerWork = 8;

/** The most that comparing two of the columns may take. */
async function compareWorkOf(budget: Pacing, columns: readonly { readonly labels: Labels }[]): Promise<number> {
  let longest = 0;
  for (const { labels } of columns) {
    longest = Math.max(longest, textLength(labels));
    if (budget.spend(labels.length)) await budget.turn();
  }
  return Math.max(compareWork, longest / charactersPerWork);
}

/** The columns sorted by their labels. */
export async function sortColumns<T extends { readonly labels: Labels }>(
  budget: Pacing,
  columns: readonly T[],
): Promise<T[]> {
  const work = await compareWorkOf(budget, columns);
  return sortInTurns(budget, columns, (a, b) => compareLabels(a.labels, b.labels), work);
}
