import { formatTimestamp } from './times.ts';

/** Where the first value's text begins: nothing stands before it that would have to be closed. */
const afterPoint = '"],'.length;

/**
 * The times of a series as JSON, each with what stands around it: the end of the point before, the time, the beginning
 * of its value's text. Series of a range mostly have the same times, whose texts are made once.
 */
export class Stamps {
  #shown: Float64Array = new Float64Array(0);
  readonly #texts = new Map<number, Uint8Array>();
  /** The text in front of value i lies between `start(i)` and `ends[i]`. */
  bytes: Uint8Array = new Uint8Array(0);
  ends: Uint32Array = new Uint32Array(0);

  /** Makes the texts those of these times. */
  show(times: Float64Array): void {
    if (isSame(times, this.#shown)) return;
    this.#shown = times;
    const ends = new Uint32Array(times.length);
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let i = 0; i < times.length; i++) {
      const part = this.#textOf(times[i]!);
      parts.push(part);
      ends[i] = length += part.length;
    }
    this.bytes = Buffer.concat(parts, length);
    this.ends = ends;
  }

  start(i: number): number {
    return i === 0 ? afterPoint : this.ends[i - 1]!;
  }

  #textOf(time: number): Uint8Array {
    let text = this.#texts.get(time);
    if (text === undefined) this.#texts.set(time, (text = Buffer.from(`"],[${formatTimestamp(time)},"`)));
    return text;
  }
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
