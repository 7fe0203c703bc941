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
    let key = '';
    for (let i = 0; i < count; i++) key += String.fromCharCode(numbers[i]! >>> 16, numbers[i]! & 0xffff);
    let found = this.#byKey.get(key);
    if (found === undefined) {
      const own = numbers.slice(0, count);
      found = { numbers: own, labels: this.#checked(own), place: this.#inOrder.length };
      this.#byKey.set(key, found);
      this.#inOrder.push(found);
    }
    return found;
  }

  #checked(numbers: readonly number[]): Labels {
    const labels: Label[] = [];
    for (let i = 0; i < numbers.length; i += 2) {
      const name = this.#texts[numbers[i]!]!;
      const value = this.#texts[numbers[i + 1]!]!;
      if (name === '' || value === '') throw malformed('label without a name or a value');
      const previous = labels.at(-1);
      if (previous !== undefined && compareStrings(previous[0], name) >= 0) throw malformed('labels are not in order');
      labels.push([name, value]);
    }
    return labels;
  }
}

function isSame(known: readonly number[], numbers: readonly number[], count: number): boolean {
  if (known.length !== count) return false;
  for (let i = 0; i < count; i++) if (known[i] !== numbers[i]) return false;
  return true;
}
