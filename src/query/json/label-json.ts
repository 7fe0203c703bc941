import type { Label, Labels } from '../../promql/index.ts';
import { textBlocks, type TextBlocks } from './text-blocks.ts';
import type { Utf8Text } from './utf8-text.ts';

/** The characters that JSON escapes, and unpaired surrogates. */
const escaped = /["\\\x00-\x1f\ud800-\udfff]/;

/** The most labels whose text is kept for the next sets of the same list. */
const maxKept = 65_536;

/** Writes the label sets of one list as JSON: a label that many sets share is encoded once. */
export function labelsJsonOfMany(): (labels: Labels) => string {
  const known = new Map<Label, string>();
  const textOf = (label: Label): string => {
    let text = known.get(label);
    if (text === undefined) {
      if (known.size >= maxKept) known.clear();
      known.set(label, (text = labelJson(label)));
    }
    return text;
  };
  return (labels) => {
    let text = '';
    for (const label of labels) text += `${text === '' ? '{' : ','}${textOf(label)}`;
    return text === '' ? '{}' : `${text}}`;
  };
}

function labelJson([name, value]: Label): string {
  return `${quoted(name)}:${quoted(value)}`;
}

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** The most labels whose text is kept. Among more distinct labels than these, repetitions are rare. */
const maxKnown = 4_096;

/**
 * Writes label sets as JSON one after the other into the same text. Neighbours in a sorted list mostly differ in their
 * last labels: the common part is copied from the previous set, and labels that many series share are encoded once.
 */
export class LabelJson {
  readonly #out: Utf8Text;
  #previous: Labels = [];
  /** Each label of the previous set, and where its text ends, relative to the start of the set's text. */
  readonly #parts: TextBlocks[] = [];
  readonly #ends: number[] = [];
  #start = 0;
  #taken = 0;
  readonly #known = new Map<Label, TextBlocks>();

  constructor(out: Utf8Text) {
    this.#out = out;
  }

  append(labels: Labels): void {
    const out = this.#out;
    const start = out.length;
    const parts = this.#parts;
    const ends = this.#ends;
    let i = this.#update(labels);
    if (this.#taken !== out.taken) i = 0;
    if (i > 0) out.repeat(this.#start, this.#start + ends[i - 1]!);
    for (; i < labels.length; i++) {
      out.append(i === 0 ? '{' : ',');
      out.appendBlocks(parts[i]!);
      ends[i] = out.length - start;
    }
    out.append(labels.length === 0 ? '{}' : '}');
    this.#start = start;
    this.#taken = out.taken;
  }

  /** Sets the parts to those of a label set; returns how many leading parts are unchanged. */
  #update(labels: Labels): number {
    const previous = this.#previous;
    const parts = this.#parts;
    const both = Math.min(labels.length, previous.length);
    let same = labels.length;
    for (let i = 0; i < labels.length; i++) {
      const label = labels[i]!;
      if (i < both && isSame(label, previous[i]!)) continue;
      if (i < same) same = i;
      parts[i] = this.#partOf(label);
    }
    this.#previous = labels;
    return same;
  }

  #partOf(label: Label): TextBlocks {
    const known = this.#known;
    let part = known.get(label);
    if (part === undefined) {
      part = textBlocks(labelJson(label));
      if (known.size >= maxKnown) known.clear();
      known.set(label, part);
    }
    return part;
  }
}

function isSame(a: Label, b: Label): boolean {
  return a === b || (a[0] === b[0] && a[1] === b[1]);
}
