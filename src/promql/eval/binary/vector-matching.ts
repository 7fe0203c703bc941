import { executionError } from '../../errors.ts';
import { dropMetadata, filterLabels, labelsText, mergedLabels, partialKey } from '../../labels.ts';
import { comparisonOperators, type BinaryExpr, type VectorMatching } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import { arithmeticOperator, comparisonOperator } from './arithmetic.ts';
import { settle } from '../settle.ts';
import type { Budget } from '../budget.ts';
import {
  ColumnBuilder,
  absent,
  isFloat,
  isHistogram,
  keyWorkOf,
  leastWeight,
  occupied,
  type Column,
} from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Element, ElementOperation } from './element.ts';
import { elementOperation } from './element-operation.ts';
import type { Frame } from '../frame.ts';
import { NewHistograms, histogramWork } from '../histogram-work.ts';
import { labelsWithin } from '../made-labels.ts';
import { matchKeep, signatureOf } from './signatures.ts';

/** Creating the labels of a pair costs as much as reading this many samples. */
const pairWork = 100;

/** All series of one match group. In a one-to-one match, the left side counts as the many side. */
interface Group {
  readonly many: Column[];
  readonly one: Column[];
}

/** Arithmetic, comparison and trim between two vectors: one-to-one, or many-to-one with group_left/group_right. */
export async function matchVectors(
  context: EvalContext,
  expr: BinaryExpr,
  left: readonly Column[],
  right: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  const matching = expr.matching!;
  const swapped = matching.card === 'one-to-many';
  const signature = signatureOf(matching);
  const groups = new Map<string, Group>();
  const { budget } = context;
  const add = async (columns: readonly Column[], side: 'many' | 'one'): Promise<void> => {
    for (const column of columns) {
      if (budget.spend(keyWorkOf(column.labels))) await budget.turn();
      const key = signature(column.labels);
      let group = groups.get(key);
      if (group === undefined) groups.set(key, (group = { many: [], one: [] }));
      group[side].push(column);
    }
  };
  await add(swapped ? right : left, 'many');
  await add(swapped ? left : right, 'one');
  const pairing = new Pairing(context, expr, frame, swapped ? right : left);
  for (const group of groups.values()) {
    const slow = pairing.group(group);
    if (slow !== null) await slow;
    if (budget.spend(pairWork + (group.many.length + group.one.length) * frame.count)) await budget.turn();
  }
  const settled = await settle(context, pairing.columns, frame);
  pairing.release();
  return settled;
}

/** The series of the one side of a match group. */
interface OneSide {
  readonly columns: readonly Column[];
  /** The series that exists at each step: its index, −1 for none. */
  readonly at: Int32Array;
  /** For each series, the first whose included labels are the same: results with either have the same labels. */
  readonly alike: readonly number[];
  readonly hasHistograms: boolean;
}

/** The results of one series of the many side, by the first series of the one side with the same included labels. */
type PairResults = Map<number, { readonly builder: ColumnBuilder; readonly one: Labels }>;

class Pairing {
  readonly columns: Column[] = [];
  /** The memory that `columns` take from the budget, without their histograms. */
  #weight = 0;
  readonly #expr: BinaryExpr;
  readonly #matching: VectorMatching;
  /** Whether a label, by its name, must be equal in two series that match. */
  readonly #isMatched: (name: string) => boolean;
  /** The labels in the list of `on` or `ignoring`. */
  readonly #listed: ReadonlySet<string>;
  /** The labels that results have from the one side. */
  readonly #included: ReadonlySet<string>;
  readonly #frame: Frame;
  readonly #operate: ElementOperation;
  readonly #swapped: boolean;
  readonly #delayed: boolean;
  readonly #fillMany: number | null;
  readonly #fillOne: number | null;
  readonly #isShare: boolean;
  readonly #budget: Budget;
  readonly #histograms: NewHistograms;

  readonly #allMany: readonly Column[];
  /** The steps at which the many side has any element; computed on demand. */
  #manyThere: Uint8Array | null = null;
  /**
   * Not 0 at each step that already has a result with the labels that the current series' result would get. Null when
   * no other series of the group can get these labels.
   */
  #taken: Uint8Array | null = null;
  /** The steps at which a pair of the current group was combined. At other steps the many side may be filled in. */
  #matched: Uint8Array | null = null;

  constructor(context: EvalContext, expr: BinaryExpr, frame: Frame, allMany: readonly Column[]) {
    this.#allMany = allMany;
    this.#budget = context.budget;
    this.#histograms = new NewHistograms(context.budget);
    this.#expr = expr;
    this.#matching = expr.matching!;
    this.#isMatched = matchKeep(this.#matching);
    this.#listed = new Set(this.#matching.labels);
    this.#included = new Set(this.#matching.include);
    this.#frame = frame;
    this.#operate = elementOperation(context, expr);
    this.#isShare = context.isShare;
    this.#delayed = context.settings.delayedNameRemoval;
    this.#swapped = this.#matching.card === 'one-to-many';
    // As in Prometheus, fill_left fills the many side even with group_right, where the many side is on the right.
    const { fillLeft, fillRight } = this.#matching;
    this.#fillMany = fillLeft;
    this.#fillOne = fillRight;
  }

  /** Pairs a group. Returns null when the group is finished without a wait, which is the usual case. */
  group(group: Group): Promise<void> | null {
    const { many, one } = group;
    const fills = this.#fillMany !== null || this.#fillOne !== null;
    if (many.length === 1 && one.length === 1 && !fills && this.#fastPair(many[0]!, one[0]!)) return null;
    return this.#pairGroup(group, fills);
  }

  async #pairGroup({ many, one }: Group, fills: boolean): Promise<void> {
    // Two series of the "one" side in a match group are an error even when no series matches them.
    const partners = await this.#oneSide(one, fills);
    const taken = await this.#takenBy(many);
    this.#matched = this.#fillMany === null ? null : new Uint8Array(this.#frame.count);
    const budget = this.#budget;
    for (const [i, column] of many.entries()) {
      this.#taken = taken[i]!;
      const results: PairResults = new Map();
      let step = this.#pairFrom(0, column, partners, results);
      while (step !== null) {
        await budget.turn();
        step = this.#pairFrom(step, column, partners, results);
      }
      for (const { builder, one } of results.values()) this.#push(builder, column.labels, one);
      if (budget.spend(pairWork + 10 * this.#frame.count)) await budget.turn();
    }
    this.#taken = null;
    if (this.#fillMany === null) return;
    await this.#fillFromOne(partners);
    if (budget.spend(pairWork + 10 * this.#frame.count)) await budget.turn();
  }

  async #oneSide(columns: readonly Column[], fills: boolean): Promise<OneSide> {
    const at = new Int32Array(this.#frame.count).fill(-1);
    const firsts = new Map<string, number>();
    const alike: number[] = [];
    for (const [index, { labels, kinds }] of columns.entries()) {
      for (let i = 0; i < this.#frame.count; i++) {
        if (kinds[i] === absent) continue;
        // A step at which the many side is empty is skipped. A node that computes its share of a query does not see
        // the whole many side, so it skips no step and fails. The query server then evaluates the whole query itself,
        // and finds out whether there is an error.
        if (at[i]! >= 0) {
          const skipped = !this.#isShare && !fills && (await this.#stepsOfMany())[i] === 0;
          if (!skipped) this.#failDuplicate(labels, columns[at[i]!]!.labels);
        }
        at[i] = index;
      }
      const key = partialKey(labels, (name) => this.#included.has(name));
      if (!firsts.has(key)) firsts.set(key, index);
      alike.push(firsts.get(key)!);
      if (this.#budget.spend(keyWorkOf(labels) + this.#frame.count)) await this.#budget.turn();
    }
    return { columns, at, alike, hasHistograms: columns.some(({ histograms }) => histograms !== null) };
  }

  /**
   * The `#taken` of each series of the many side. One-to-one: the whole group shares one. Many-to-one: series share one
   * when they are equal but for the labels of `group_left`. These come from the one side, and at a step the whole group
   * has the same partner there, so their results would be equal.
   */
  async #takenBy(many: readonly Column[]): Promise<(Uint8Array | null)[]> {
    if (this.#matching.card === 'one-to-one') {
      const steps = new Uint8Array(this.#frame.count);
      return many.map(() => steps);
    }
    if (many.length < 2) return [null];
    const known = new Map<string, Uint8Array | null>();
    const keys: string[] = [];
    for (const { labels } of many) {
      const key = partialKey(this.#keptLabels(labels), (name) => !this.#included.has(name));
      const isFirst = !known.has(key);
      known.set(key, isFirst ? null : (known.get(key) ?? new Uint8Array(this.#frame.count)));
      keys.push(key);
      if (this.#budget.spend(keyWorkOf(labels))) await this.#budget.turn();
    }
    return keys.map((key) => known.get(key)!);
  }

  async #stepsOfMany(): Promise<Uint8Array> {
    return (this.#manyThere ??= await occupied(this.#budget, this.#allMany, this.#frame.count));
  }

  #failDuplicate(a: Labels, b: Labels): never {
    const group = labelsText(filterLabels(a, this.#isMatched));
    const side = this.#swapped ? 'left' : 'right';
    const pair = [labelsText(a), labelsText(b)].sort((x, y) => (x < y ? -1 : 1)).join(', ');
    throw executionError(
      `found duplicate series for the match group ${group} on the ${side} hand-side of the operation: [${pair}]` +
        ';many-to-many matching not allowed: matching labels must be unique on one side',
    );
  }

  #fastPair(many: Column, one: Column): boolean {
    if (many.histograms !== null || one.histograms !== null) return false;
    const compute = arithmeticOperator(this.#expr.op);
    const compare = comparisonOperator(this.#expr.op);
    if (compute === undefined && compare === undefined) return false;
    const [left, right] = this.#swapped ? [one, many] : [many, one];
    const builder = this.#builder();
    for (let i = 0; i < this.#frame.count; i++) {
      if (left.kinds[i] !== isFloat || right.kinds[i] !== isFloat) continue;
      const [a, b] = [left.values[i]!, right.values[i]!];
      if (compute !== undefined) builder.setFloat(i, compute(a, b));
      else if (this.#expr.returnBool) builder.setFloat(i, compare!(a, b) ? 1 : 0);
      else if (compare!(a, b)) builder.setFloat(i, a);
    }
    this.#push(builder, many.labels, one.labels);
    return true;
  }

  /**
   * Combines one series of the many side with the series of the one side that exists at each step, from step `from` on.
   * Returns the step to go on with after a turn, which may also be due after the last step; null at the end.
   */
  #pairFrom(from: number, many: Column, oneSide: OneSide, results: PairResults): number | null {
    const { columns, at, alike } = oneSide;
    const mayHaveHistograms = oneSide.hasHistograms || many.histograms !== null;
    const fill = this.#fillOne;
    const filled = this.#included.size === 0 ? 0 : -1;
    for (let i = from; i < this.#frame.count; i++) {
      const partner = columns[at[i]!];
      if (many.kinds[i] === absent || (partner === undefined && fill === null)) continue;
      const key = partner === undefined ? filled : alike[at[i]!]!;
      let result = results.get(key);
      if (result === undefined) {
        const one = partner?.labels ?? filterLabels(many.labels, this.#isMatched);
        results.set(key, (result = { builder: this.#builder(), one }));
      }
      const other = partner === undefined ? { value: fill!, histogram: null } : elementAt(partner, i);
      this.#apply(elementAt(many, i), other, i, result.builder);
      if (mayHaveHistograms && this.#isTurnDue(many, partner, i)) return i + 1;
    }
    return null;
  }

  /** Fills in the many side at the steps where the one side has no match, or where its sample type was incompatible. */
  async #fillFromOne({ columns, at, alike, hasHistograms }: OneSide): Promise<void> {
    const builders = new Map<number, ColumnBuilder>();
    for (let i = 0; i < this.#frame.count; i++) {
      const one = columns[at[i]!];
      if (one === undefined || this.#matched![i] === 1) continue;
      const key = alike[at[i]!]!;
      let builder = builders.get(key);
      if (builder === undefined) builders.set(key, (builder = this.#builder()));
      this.#apply({ value: this.#fillMany!, histogram: null }, elementAt(one, i), i, builder);
      if (hasHistograms && this.#isTurnDue(undefined, one, i)) await this.#budget.turn();
    }
    for (const [key, builder] of builders) {
      const { labels } = columns[key]!;
      this.#push(builder, filterLabels(labels, this.#isMatched), labels);
    }
  }

  #apply(many: Element, one: Element, step: number, out: ColumnBuilder): void {
    const outcome = this.#swapped ? this.#operate(one, many) : this.#operate(many, one);
    // Incompatible sample types do not count as a match; a comparison counts as one even if it is not true.
    if (outcome === null) return;
    if (this.#matched !== null) this.#matched[step] = 1;
    if (this.#taken !== null && this.#taken[step]!++ > 0) {
      const way =
        this.#matching.card === 'one-to-one'
          ? 'many-to-one matching must be explicit (group_left/group_right)'
          : 'grouping labels must ensure unique matches';
      throw executionError(`multiple matches for labels: ${way}`);
    }
    if (this.#expr.returnBool) out.setFloat(step, outcome.keep ? 1 : 0);
    else if (outcome.keep) {
      if (outcome.histogram !== null) this.#histograms.set(out, step, outcome.histogram);
      else out.setFloat(step, outcome.value);
    }
  }

  /** Counts the work on the histograms of two series at a step; true when it is time for a turn. */
  #isTurnDue(many: Column | undefined, one: Column | undefined, step: number): boolean {
    const work = histogramWork(many?.histograms?.[step] ?? null) + histogramWork(one?.histograms?.[step] ?? null);
    return work > 0 && this.#budget.spend(work);
  }

  /** A builder whose memory is taken from the budget: all results stay in memory until every pair is known. */
  #builder(): ColumnBuilder {
    const weight = leastWeight(1, this.#frame.count);
    this.#budget.hold(weight);
    this.#weight += weight;
    return new ColumnBuilder(this.#frame.count);
  }

  /** Gives the memory of all results back. */
  release(): void {
    this.#budget.release(this.#weight);
    this.#histograms.release();
  }

  #push(builder: ColumnBuilder, many: Labels, one: Labels): void {
    if (builder.points > 0) {
      this.columns.push(builder.build(this.#resultLabels(many, one), this.#expr.returnBool));
      return;
    }
    const weight = leastWeight(1, this.#frame.count);
    this.#budget.release(weight);
    this.#weight -= weight;
  }

  #resultLabels(many: Labels, one: Labels): Labels {
    const kept = this.#keptLabels(many);
    const included = this.#included;
    if (included.size === 0) return kept;
    const brought = filterLabels(one, (name) => included.has(name));
    const others = filterLabels(kept, (name) => !included.has(name));
    return brought.length === 0 ? others : labelsWithin(mergedLabels(others, brought));
  }

  /** The labels that a result has from the many side. */
  #keptLabels(many: Labels): Labels {
    const { op, returnBool } = this.#expr;
    const changesMeaning = !comparisonOperators.has(op) && op !== '</' && op !== '>/';
    const labels = changesMeaning || (returnBool && !this.#delayed) ? dropMetadata(many) : many;
    const { card, on } = this.#matching;
    return card === 'one-to-one' ? filterLabels(labels, (name) => this.#listed.has(name) === on) : labels;
  }
}

function elementAt(column: Column, step: number): Element {
  if (column.kinds[step] === isHistogram) return { value: 0, histogram: column.histograms![step]! };
  return { value: column.values[step]!, histogram: null };
}
