import { compareStrings } from '../labels.ts';
import type { Label, Labels } from '../types.ts';
import { malformed } from './numbers.ts';

/**
 * The texts and label sets of all answers to one fragment. Agents name the same groups: with a pool each is one object,
 * however many agents have it, so that it is checked once and found by identity when rows are joined.
 */
export class LabelPool {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #sets = new Map<string, Labels>();

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
   * The labels that `count` numbers (name, value, name, …) stand for: one object for each set of labels.
   * Errors: ERR_INPUT_INVALID for names out of order or twice, an empty name or value.
   */
  labels(numbers: readonly number[], count: number): Labels {
    let key = '';
    for (let i = 0; i < count; i++) key += String.fromCharCode(numbers[i]! >>> 16, numbers[i]! & 0xffff);
    let labels = this.#sets.get(key);
    if (labels === undefined) this.#sets.set(key, (labels = this.#checked(numbers, count)));
    return labels;
  }

  #checked(numbers: readonly number[], count: number): Labels {
    const labels: Label[] = [];
    for (let i = 0; i < count; i += 2) {
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
