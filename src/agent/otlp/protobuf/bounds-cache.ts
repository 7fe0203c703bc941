import type { WireReader } from '../../../base/wire/protobuf-wire.ts';

/** Lists of more bounds are not cached, but read each time. */
const longestKept = 256;

/**
 * Caches the bounds of histograms: a sender has few lists and repeats one in each point. A list that equals the last
 * one of its length is returned as the same object, so comparing two lists mostly needs no look at their elements.
 */
export class BoundsCache {
  readonly #byLength: (readonly number[] | undefined)[] = [];

  /** The `n` doubles from position `start` of the reader's bytes on. */
  read(reader: WireReader, start: number, n: number): readonly number[] {
    const known = this.#byLength[n];
    if (known) {
      let i = 0;
      while (i < n && reader.doubleAt(start + 8 * i) === known[i]) i++;
      if (i === n) return known;
    }
    const fresh = new Array<number>(n);
    for (let i = 0; i < n; i++) fresh[i] = reader.doubleAt(start + 8 * i);
    if (n <= longestKept) this.#byLength[n] = fresh;
    return fresh;
  }

  /** The list that the point being read has so far, to append to: a copy while others may have the same list. */
  own(list: readonly number[]): number[] {
    return list.length === 0 || this.#byLength[list.length] === list ? [...list] : (list as number[]);
  }
}
