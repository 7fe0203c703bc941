import { compareStrings } from '../labels.ts';
import type { Label, Labels } from '../types.ts';
import { malformed } from './numbers.ts';

/** One set of labels: decoded, and as the numbers that the pool gave to its strings (name, value, name, …). */
export interface Pooled {
  readonly numbers: readonly number[];
  readonly labels: Labels;
  /** Its index among all sets, in order of arrival. */
  readonly place: number;
}

/** Size of a text without its characters, of a name's table of values, and of a pair. Units: bytes. */
const [textBytes, tableBytes, pairBytes] = [96, 200, 96];

/**
 * The texts and label sets of all agents' answers to one fragment (the part of a query that agents compute). Agents
 * send the same groups: with a pool the labels of a group are one object, however many agents send them, so that they
 * are validated once and found by identity when rows are joined.
 */
export class LabelPool {
  readonly #hold: (bytes: number) => void;
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #byKey = new Map<string, Pooled>();
  readonly #inOrder: Pooled[] = [];
  readonly #units: number[] = [];
  /** One object for each pair of a name and a value, by their numbers. */
  readonly #pairs = new Map<number, Map<number, Label>>();

  /**
   * `hold` is called before the pool takes memory for texts and pairs, which it keeps; throws to refuse. Default: nothing
   * is counted.
   */
  constructor(hold: (bytes: number) => void = () => {}) {
    this.#hold = hold;
  }

  /** The number of a text: the same for the same text. */
  number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      this.#hold(textBytes + text.length);
      number = this.#texts.length;
      this.#numbers.set(text, number);
      this.#texts.push(text);
    }
    return number;
  }

  /**
   * The labels of the first `count` numbers: one object for each set of labels. `after` is the previous set of the same
   * answer: agents send groups in the same order, so the next set is mostly found without a search.
   * Errors: ERR_INPUT_INVALID for names out of order or repeated, an empty name or value.
   */
  pooled(numbers: readonly number[], count: number, after: Pooled | undefined): Pooled {
    const next = this.#inOrder[after === undefined ? 0 : after.place + 1];
    if (next !== undefined && isSame(next.numbers, numbers, count)) return next;
    const key = this.#key(numbers, count);
    let found = this.#byKey.get(key);
    if (found === undefined) {
      const own = numbers.slice(0, count);
      found = {
        numbers: own,
        labels: this.labelsOf(own, count, after?.numbers ?? [], after?.labels ?? []),
        place: this.#inOrder.length,
      };
      this.#byKey.set(key, found);
      this.#inOrder.push(found);
    }
    return found;
  }

  /**
   * A string that is equal for equal numbers only: one UTF-16 unit for each number, three for a number that does not
   * fit into one unit.
   */
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

  /**
   * The labels of the first `count` numbers. Labels equal to those at the same index of the previous set are the same
   * objects, and their names were validated with that set. Errors: as for `pooled`.
   */
  labelsOf(numbers: readonly number[], count: number, numbersBefore: readonly number[], before: Labels): Labels {
    const length = count >> 1;
    const labels = before.slice(0, length);
    let isKnown = true;
    for (let i = 0; i < length; i++) {
      const name = numbers[2 * i]!;
      const value = numbers[2 * i + 1]!;
      const wasKnown = isKnown;
      isKnown = i < before.length && name === numbersBefore[2 * i];
      if (!isKnown || value !== numbersBefore[2 * i + 1]) labels[i] = this.#label(name, value);
      if (i === 0 || (wasKnown && isKnown)) continue;
      if (compareStrings(labels[i - 1]![0], labels[i]![0]) >= 0) throw malformed('labels are not in order');
    }
    return labels;
  }

  #label(nameNumber: number, valueNumber: number): Label {
    let values = this.#pairs.get(nameNumber);
    if (values === undefined) {
      this.#hold(tableBytes);
      this.#pairs.set(nameNumber, (values = new Map()));
    }
    let label = values.get(valueNumber);
    if (label === undefined) {
      this.#hold(pairBytes);
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
