import { executionError } from '../../errors.ts';
import { dropMetadata, filterLabels, labelValue, labelsKey, labelsText, setLabel } from '../../labels.ts';
import { comparisonOperators, type BinaryExpr, type VectorMatching } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import { arithmeticOperator, comparisonOperator } from './arithmetic.ts';
import { settle } from '../settle.ts';
import type { Budget } from '../budget.ts';
import { ColumnBuilder, absent, isFloat, isHistogram, keyWork, leastWeight, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Element, ElementOperation } from './element.ts';
import { elementOperation } from './element-operation.ts';
import type { Frame } from '../frame.ts';
import { matchLabels, signatureOf } from './signatures.ts';

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
      if (budget.spend(keyWork)) await budget.turn();
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
  return settle(context, pairing.columns, frame);
}

class Pairing {
  readonly columns: Column[] = [];
  readonly #expr: BinaryExpr;
  readonly #matching: VectorMatching;
  readonly #frame: Frame;
  readonly #operate: ElementOperation;
  readonly #swapped: boolean;
  readonly #delayed: boolean;
  readonly #fillMany: number | null;
  readonly #fillOne: number | null;
  readonly #isShare: boolean;
  readonly #budget: Budget;

  readonly #allMany: readonly Column[];
  /** The steps at which the many side has any element; computed on demand. */
  #manyThere: Uint8Array | null = null;
  /** One-to-one: the steps at which the current group has already matched. */
  #taken: Uint8Array | null = null;
  /** The steps at which a pair of the current group was combined. At other steps the many side may be filled in. */
  #matched: Uint8Array | null = null;

  constructor(context: EvalContext, expr: BinaryExpr, frame: Frame, allMany: readonly Column[]) {
    this.#allMany = allMany;
    this.#budget = context.budget;
    this.#expr = expr;
    this.#matching = expr.matching!;
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
    await this.#refuseTwoOnOneSide(one, fills);
    const before = this.columns.length;
    this.#taken = this.#matching.card === 'one-to-one' ? new Uint8Array(this.#frame.count) : null;
    this.#matched = this.#fillMany === null ? null : new Uint8Array(this.#frame.count);
    const budget = this.#budget;
    for (const column of many) {
      await this.#pairAll(column, one);
      if (budget.spend(pairWork + this.#frame.count)) await budget.turn();
    }
    if (this.#fillMany !== null) {
      for (const column of one) {
        this.#fillFromOne(column);
        if (budget.spend(pairWork + this.#frame.count)) await budget.turn();
      }
    }
    await this.#refuseEqualResults(before);
  }

  async #refuseTwoOnOneSide(one: readonly Column[], fills: boolean): Promise<void> {
    if (one.length < 2) return;
    const holder: (Column | undefined)[] = new Array<Column | undefined>(this.#frame.count);
    for (const column of one) {
      for (let i = 0; i < this.#frame.count; i++) {
        if (column.kinds[i] === absent) continue;
        const other = holder[i];
        // A step at which the many side is empty is skipped. A node that computes its share of a query does not see
        // the whole many side, so it skips no step and fails. The query server then evaluates the whole query itself,
        // and finds out whether there is an error.
        if (other !== undefined) {
          const skipped = !this.#isShare && !fills && (await this.#stepsOfMany())[i] === 0;
          if (!skipped) this.#failDuplicate(column.labels, other.labels);
        }
        holder[i] = column;
      }
      if (this.#budget.spend(this.#frame.count)) await this.#budget.turn();
    }
  }

  async #stepsOfMany(): Promise<Uint8Array> {
    if (this.#manyThere !== null) return this.#manyThere;
    const there = new Uint8Array(this.#frame.count);
    for (const { kinds } of this.#allMany) {
      for (let i = 0; i < kinds.length; i++) if (kinds[i] !== absent) there[i] = 1;
      if (this.#budget.spend(kinds.length)) await this.#budget.turn();
    }
    return (this.#manyThere = there);
  }

  #failDuplicate(a: Labels, b: Labels): never {
    const group = labelsText(matchLabels(a, this.#matching));
    const side = this.#swapped ? 'left' : 'right';
    const pair = [labelsText(a), labelsText(b)].sort((x, y) => (x < y ? -1 : 1)).join(', ');
    throw executionError(
      `found duplicate series for the match group ${group} on the ${side} hand-side of the operation: [${pair}]` +
        ';many-to-many matching not allowed: matching labels must be unique on one side',
    );
  }

  /** Two results of one match group with equal labels at the same step are ambiguous. */
  async #refuseEqualResults(before: number): Promise<void> {
    if (this.#matching.card === 'one-to-one' || this.columns.length - before < 2) return;
    const taken = new Map<string, Uint8Array>();
    for (const column of this.columns.slice(before)) {
      const key = labelsKey(column.labels);
      const steps = taken.get(key) ?? new Uint8Array(this.#frame.count);
      taken.set(key, steps);
      for (let i = 0; i < this.#frame.count; i++) {
        if (column.kinds[i] === absent) continue;
        if (steps[i] === 1) {
          throw executionError('multiple matches for labels: grouping labels must ensure unique matches');
        }
        steps[i] = 1;
      }
      if (this.#budget.spend(keyWork + this.#frame.count)) await this.#budget.turn();
    }
  }

  #fastPair(many: Column, one: Column): boolean {
    if (many.histograms !== null || one.histograms !== null) return false;
    const compute = arithmeticOperator(this.#expr.op);
    const compare = comparisonOperator(this.#expr.op);
    const [left, right] = this.#swapped ? [one, many] : [many, one];
    const builder = new ColumnBuilder(this.#frame.count);
    for (let i = 0; i < this.#frame.count; i++) {
      if (left.kinds[i] !== isFloat || right.kinds[i] !== isFloat) continue;
      const [a, b] = [left.values[i]!, right.values[i]!];
      if (compute !== undefined) builder.setFloat(i, compute(a, b));
      else if (compare !== undefined) {
        if (this.#expr.returnBool) builder.setFloat(i, compare(a, b) ? 1 : 0);
        else if (compare(a, b)) builder.setFloat(i, a);
      } else return false;
    }
    this.#push(builder, many.labels, one.labels);
    return true;
  }

  /** Combines one series of the many side with the series of the one side that exists at each step. */
  async #pairAll(many: Column, one: readonly Column[]): Promise<void> {
    const fill = this.#fillOne;
    const rest = fill === null ? null : new ColumnBuilder(this.#frame.count);
    for (const partner of one) {
      const builder = new ColumnBuilder(this.#frame.count);
      for (let i = 0; i < this.#frame.count; i++) {
        if (many.kinds[i] !== absent && partner.kinds[i] !== absent) {
          this.#apply(elementAt(many, i), elementAt(partner, i), i, builder);
        }
      }
      this.#push(builder, many.labels, partner.labels);
      if (this.#budget.spend(pairWork + 10 * this.#frame.count)) await this.#budget.turn();
    }
    if (rest === null) return;
    for (let i = 0; i < this.#frame.count; i++) {
      if (many.kinds[i] === absent || one.some((column) => column.kinds[i] !== absent)) continue;
      this.#apply(elementAt(many, i), { value: fill!, histogram: null }, i, rest);
    }
    this.#push(rest, many.labels, matchLabels(many.labels, this.#matching));
  }

  /** Fills in the many side at the steps where the one side has no match, or where its sample type was incompatible. */
  #fillFromOne(one: Column): void {
    const builder = new ColumnBuilder(this.#frame.count);
    for (let i = 0; i < this.#frame.count; i++) {
      if (one.kinds[i] === absent || this.#matched![i] === 1) continue;
      this.#apply({ value: this.#fillMany!, histogram: null }, elementAt(one, i), i, builder);
    }
    this.#push(builder, matchLabels(one.labels, this.#matching), one.labels);
  }

  #apply(many: Element, one: Element, step: number, out: ColumnBuilder): void {
    const outcome = this.#swapped ? this.#operate(one, many) : this.#operate(many, one);
    // Incompatible sample types do not count as a match; a comparison counts as one even if it is not true.
    if (outcome === null) return;
    if (this.#matched !== null) this.#matched[step] = 1;
    if (this.#taken !== null && this.#taken[step]!++ > 0) {
      throw executionError(
        'multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)',
      );
    }
    if (this.#expr.returnBool) out.setFloat(step, outcome.keep ? 1 : 0);
    else if (outcome.keep) {
      if (outcome.histogram !== null) out.setHistogram(step, outcome.histogram);
      else out.setFloat(step, outcome.value);
    }
  }

  #push(builder: ColumnBuilder, many: Labels, one: Labels): void {
    if (builder.points === 0) return;
    // All results stay in memory until every pair is known.
    this.#budget.expect(
      leastWeight(this.columns.length + 1, this.#frame.count),
      () => `${this.columns.length + 1} pairs of series at ${this.#frame.count} steps`,
    );
    this.columns.push(builder.build(this.#resultLabels(many, one), this.#expr.returnBool));
  }

  #resultLabels(many: Labels, one: Labels): Labels {
    const { op, returnBool } = this.#expr;
    const { card, on, labels: names, include } = this.#matching;
    const changesMeaning = !comparisonOperators.has(op) && op !== '</' && op !== '>/';
    let labels = changesMeaning || (returnBool && !this.#delayed) ? dropMetadata(many) : many;
    if (card === 'one-to-one') {
      const set = new Set(names);
      labels = filterLabels(labels, (name) => set.has(name) === on);
    }
    for (const name of include) labels = setLabel(labels, name, labelValue(one, name));
    return labels;
  }
}

function elementAt(column: Column, step: number): Element {
  if (column.kinds[step] === isHistogram) return { value: 0, histogram: column.histograms![step]! };
  return { value: column.values[step]!, histogram: null };
}
