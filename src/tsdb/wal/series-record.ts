import { OperatorError } from '../../base/errors.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { compareUtf8 } from '../labels.ts';
import type { Labels } from '../labels.ts';

/**
 * Payload of `newSeries`: series that were added together, each written as its difference from the previous one. The
 * eighteen series of a histogram differ in two labels of a dozen, and so do most consecutive series of one sender.
 * Shape of a series: ref delta, number of labels, then groups until all labels are complete. A group: how many labels
 * of the previous series to skip, how many to copy, then one new label. A new label: 0 and its name, or 1 if it has the
 * name of the next label of the previous series; then its value.
 */
export class SeriesRecordWriter {
  #labels: Labels = [];
  #ref = 0;

  /** Adds a series after those of the same record in `out`. */
  add(out: ByteWriter, ref: number, labels: Labels): void {
    const before = this.#labels;
    out.zigzag(ref - this.#ref);
    out.varint(labels.length);
    for (let i = 0, j = 0; i < labels.length;) {
      let passed = 0;
      while (j < before.length && compareUtf8(before[j]![0], labels[i]![0]) < 0) {
        j++;
        passed++;
      }
      let taken = 0;
      while (i < labels.length && j < before.length && same(before[j]!, labels[i]!)) {
        i++;
        j++;
        taken++;
      }
      out.varint(passed);
      out.varint(taken);
      if (i === labels.length) break;
      const [name, value] = labels[i++]!;
      const replaces = j < before.length && before[j]![0] === name;
      out.varint(replaces ? 1 : 0);
      if (replaces) j++;
      else out.text(name);
      out.text(value);
    }
    this.#ref = ref;
    this.#labels = labels;
  }

  /** Begins a new record with the next series. */
  reset(): void {
    this.#labels = [];
    this.#ref = 0;
  }
}

/** Reads a payload. Consecutive series share the pairs of equal labels. Errors: ERR_STORE_CORRUPT. */
export function readSeriesRecord(reader: ByteReader, take: (ref: number, labels: Labels) => void): void {
  let before: Labels = [];
  for (let ref = 0; !reader.done;) {
    ref += reader.zigzag();
    const count = reader.varint();
    const labels: (readonly [string, string])[] = [];
    for (let j = 0; labels.length < count;) {
      j += reader.varint();
      const taken = reader.varint();
      if (j + taken > before.length || labels.length + taken > count) throw corrupt();
      for (const end = j + taken; j < end; j++) labels.push(before[j]!);
      if (labels.length === count) break;
      const replaces = reader.varint() === 1;
      if (replaces && j >= before.length) throw corrupt();
      labels.push([replaces ? before[j++]![0] : reader.text(), reader.text()]);
    }
    take(ref, labels);
    before = labels;
  }
}

function same(a: Labels[number], b: Labels[number]): boolean {
  return a === b || (a[0] === b[0] && a[1] === b[1]);
}

function corrupt(): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', 'log: a series refers to labels that the one before it does not have');
}
