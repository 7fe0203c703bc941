import type { Labels } from '../../promql/index.ts';

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

/** Label sets as JSON, one after the other: what one shares with the one before is not written anew. */
export class LabelJson {
  #previous: Labels = [];
  #parts: string[] = [];

  of(labels: Labels): string {
    if (labels.length === 0) return '{}';
    const previous = this.#previous;
    const parts = this.#parts;
    if (parts.length > labels.length) parts.length = labels.length;
    for (let i = 0; i < labels.length; i++) {
      const label = labels[i]!;
      const before = previous[i];
      if (before !== undefined && (before === label || (before[0] === label[0] && before[1] === label[1]))) continue;
      parts[i] = `${i === 0 ? '{' : ','}${quoted(label[0])}:${quoted(label[1])}`;
    }
    this.#previous = labels;
    return `${parts.join('')}}`;
  }
}
