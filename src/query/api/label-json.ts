import type { Labels } from '../../promql/index.ts';
import type { AsciiText } from './ascii-text.ts';

/** What JSON escapes, and more: half a surrogate pair. */
const escaped = /["\\\x00-\x1f\ud800-\udfff]/;

export function labelsJson(labels: Labels): string {
  let text = '';
  for (const [name, value] of labels) text += `${text === '' ? '{' : ','}${quoted(name)}:${quoted(value)}`;
  return text === '' ? '{}' : `${text}}`;
}

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

const beyondAscii = /[^\x00-\x7f]/;

/** Label sets as JSON, one after the other: what one shares with the one before is not written anew. */
export class LabelJson {
  #previous: Labels = [];
  readonly #parts: string[] = [];
  /** The first parts as one text: series in order mostly differ in their last labels. */
  #prefix = '';
  #prefixParts = 0;
  #allAscii = true;

  of(labels: Labels): string {
    this.#take(labels);
    return labels.length === 0 ? '{}' : `${this.#parts.join('')}}`;
  }

  /** Adds the JSON of a label set to a text. False, with nothing added, where it may be more than ASCII. */
  appendTo(out: AsciiText, labels: Labels): boolean {
    const same = this.#take(labels);
    if (!this.#allAscii) return false;
    const parts = this.#parts;
    if (same !== this.#prefixParts) {
      this.#prefix = parts.slice(0, same).join('');
      this.#prefixParts = same;
    }
    out.append(labels.length === 0 ? '{' : this.#prefix);
    for (let i = same; i < parts.length; i++) out.append(parts[i]!);
    out.append('}');
    return true;
  }

  /** Makes the parts those of a label set; how many of the first are as they were. */
  #take(labels: Labels): number {
    const previous = this.#previous;
    const parts = this.#parts;
    if (parts.length > labels.length) parts.length = labels.length;
    let same = -1;
    for (let i = 0; i < labels.length; i++) {
      const label = labels[i]!;
      const before = previous[i];
      if (before !== undefined && (before === label || (before[0] === label[0] && before[1] === label[1]))) continue;
      if (same === -1) same = i;
      const part = `${i === 0 ? '{' : ','}${quoted(label[0])}:${quoted(label[1])}`;
      this.#allAscii &&= !beyondAscii.test(part);
      parts[i] = part;
    }
    this.#previous = labels;
    return same === -1 ? labels.length : same;
  }
}
