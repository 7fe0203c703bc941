import { textBlocks, type TextBlocks } from './text-blocks.ts';
import { formatTimestamp } from './times.ts';

/** At most this many texts of times are kept. A range query has fewer steps. */
const maxTexts = 32_768;

/**
 * The times of a series as JSON. The text of a time also has what precedes and follows it in the answer: the end of the
 * previous point, and the opening quote of the time's value. The series of a range query mostly have the same times,
 * whose texts are made once.
 */
export class Stamps {
  #shown: Float64Array = new Float64Array(0);
  #fromStart = true;
  readonly #texts = new Map<number, TextBlocks>();
  /** The text of time i begins at block `i * stride` and has `lengths[i]` bytes. */
  blocks: Float64Array = new Float64Array(0);
  lengths: Uint8Array = new Uint8Array(0);
  stride = 0;

  /** Sets the texts for these times. `fromStart`: the first of these times is the first of the series. */
  show(times: Float64Array, fromStart = true): void {
    if (fromStart === this.#fromStart && isSame(times, this.#shown)) return;
    this.#shown = times;
    this.#fromStart = fromStart;
    const texts: TextBlocks[] = [];
    let stride = 0;
    for (let i = 0; i < times.length; i++) {
      const text = i === 0 && fromStart ? textBlocks(`[${opened(times[i]!)}`) : this.#textOf(times[i]!);
      texts.push(text);
      stride = Math.max(stride, text.blocks.length);
    }
    this.blocks = new Float64Array(stride * times.length);
    this.lengths = new Uint8Array(times.length);
    this.stride = stride;
    for (const [i, { blocks, length }] of texts.entries()) {
      this.blocks.set(blocks, i * stride);
      this.lengths[i] = length;
    }
  }

  #textOf(time: number): TextBlocks {
    let text = this.#texts.get(time);
    if (text === undefined) {
      if (this.#texts.size >= maxTexts) this.#texts.clear();
      this.#texts.set(time, (text = textBlocks(`"],[${opened(time)}`)));
    }
    return text;
  }
}

function opened(time: number): string {
  return `${formatTimestamp(time)},"`;
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
