import { WireWriter } from '../../base/protobuf-wire.ts';
import { compareStrings } from '../labels.ts';
import type { Label, Labels } from '../types.ts';
import { malformed } from './numbers.ts';

/** Names and values of labels, each sent once: rows name them by number. */
export class DictionaryWriter {
  readonly #numbers = new Map<string, number>();
  #fresh: string[] = [];

  /** The labels of a row as numbers, in one packed run. */
  refs(labels: Labels): Uint8Array {
    const out = new WireWriter(16 * labels.length);
    for (const [name, value] of labels) out.rawVarint(this.#number(name)).rawVarint(this.#number(value));
    return out.finish();
  }

  /** Texts that have not been sent yet, in order of their numbers. */
  takeFresh(): string[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  #number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
      this.#fresh.push(text);
    }
    return number;
  }
}

/** The other side: texts by number, and label sets that are what labels must be. */
export class DictionaryReader {
  readonly #texts: string[] = [];

  add(text: string): void {
    this.#texts.push(text);
  }

  /** Errors: ERR_INPUT_INVALID for a number nobody sent, names out of order or twice, an empty name or value. */
  labels(refs: Uint8Array): Labels {
    const labels: Label[] = [];
    let at = 0;
    const next = (): string => {
      let number = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = refs[at++];
        if (byte === undefined || scale > 1e9) throw malformed('label numbers are cut off');
        number += (byte & 127) * scale;
        if (byte < 128) break;
      }
      const text = this.#texts[number];
      if (text === undefined || text === '') throw malformed('label that the dictionary does not have');
      return text;
    };
    while (at < refs.length) {
      const name = next();
      const value = next();
      const previous = labels.at(-1);
      if (previous !== undefined && compareStrings(previous[0], name) >= 0) throw malformed('labels are not in order');
      labels.push([name, value]);
    }
    return labels;
  }
}
