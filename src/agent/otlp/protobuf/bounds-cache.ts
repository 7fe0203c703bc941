import type { WireReader } from '../../../base/wire/protobuf-wire.ts';

/** Longer lists are read each time. */
const longestKept = 256;

/**
 * The bounds of histograms, of which a sender has a few lists and repeats one in each point: a list that is the very
 * one of its length before is not made again, and whoever compares two of them mostly needs no look inside.
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
}
