import { compareStrings } from '../labels.ts';
import type { Label, Labels } from '../types.ts';
import { malformed } from './numbers.ts';

/** One set of labels, as numbers of texts (name, value, name, …) and as what they stand for. */
export interface Pooled {
  readonly numbers: readonly number[];
  readonly labels: Labels;
  /** Its place among all, in the order in which they came. */
  readonly place: number;
}

/**
 * The texts and label sets of all answers to one fragment. Agents name the same groups: with a pool each is one object,
 * however many agents have it, so that it is checked once and found by identity when rows are joined.
 */
export class LabelPool {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #byKey = new Map<string, Pooled>();
  readonly #inOrder: Pooled[] = [];
  readonly #units: number[] = [];
  /** One object for each pair of a name and a value, by their numbers. */
  readonly #pairs = new Map<number, Map<number, Label>>();

  /** The number of a text: the same for the same text. */
  number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#texts.length;
      this.#numbers.set(text, number);
      this.#texts.push(text);
    }
    return number;
  }

  /**
   * The labels that the first `count` numbers stand for: one object for each set of labels. `after` is the one that came
   * before in the same answer: agents name groups in the same order, so the next one is mostly known without a search.
   * Errors: ERR_INPUT_INVALID for names out of order or twice, an empty name or value.
   */
  pooled(numbers: readonly number[], count: number, after: Pooled | undefined): Pooled {
    const next = this.#inOrder[after === undefined ? 0 : after.place + 1];
    if (next !== undefined && isSame(next.numbers, numbers, count)) return next;
    const key = this.#key(numbers, count);
    let found = this.#byKey.get(key);
    if (found === undefined) {
      const own = numbers.slice(0, count);
      found = { numbers: own, labels: this.#checked(own, after), place: this.#inOrder.length };
      this.#byKey.set(key, found);
      this.#inOrder.push(found);
    }
    return found;
  }

  /** A text that is equal for equal numbers only: one unit for each, three for a number that does not fit into one. */
  #key(numbers: readonly number[], count: number): string {
    const units = this.#units;
    units.length = 0;
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!;
      if (number < 0xffff) units.push(number);
      else units.push(0xffff, number >>> 16, number & 0xffff);
    }
    return String.fromCharCode(...units);
  }

  /** Labels that stand at the same place in the set before are the same objects, and were checked with it. */
  #checked(numbers: readonly number[], after: Pooled | undefined): Labels {
    let same = 0;
    if (after !== undefined) {
      const both = Math.min(numbers.length, after.numbers.length);
      while (same < both && after.numbers[same] === numbers[same]) same++;
    }
    return this.labelsOf(numbers, numbers.length, after?.labels ?? [], same >> 1);
  }

  /**
   * The labels that the first `count` numbers stand for. The first `same` of them are those of `before`, which was checked.
   * Errors: as of `pooled`.
   */
  labelsOf(numbers: readonly number[], count: number, before: Labels, same: number): Labels {
    const labels = before.slice(0, same);
    for (let i = same; i < count >> 1; i++) {
      const label = this.#label(numbers[2 * i]!, numbers[2 * i + 1]!);
      if (i > 0 && compareStrings(labels[i - 1]![0], label[0]) >= 0) throw malformed('labels are not in order');
      labels.push(label);
    }
    return labels;
  }

  #label(nameNumber: number, valueNumber: number): Label {
    let values = this.#pairs.get(nameNumber);
    if (values === undefined) this.#pairs.set(nameNumber, (values = new Map()));
    let label = values.get(valueNumber);
    if (label === undefined) {
      label = [this.#texts[nameNumber]!, this.#texts[valueNumber]!];
      if (label[0] === '' || label[1] === '') throw malformed('label without a name or a value');
      values.set(valueNumber, label);
    }
    return label;
  }
}

function isSame(known: readonly number[], numbers: readonly number[], count: number): boolean {
  if (known.length !== count) return false;
  for (let i = 0; i < count; i++) if (known[i] !== numbers[i]) return false;
  return true;
}
