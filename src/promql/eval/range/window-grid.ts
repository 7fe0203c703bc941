import { referenceTime, type Frame, type Timing } from '../frame.ts';
import { RateSpans } from './rate-spans.ts';

/**
 * The windows (end − range, end] of all steps over the times of a series, as index ranges. Series that were sampled at
 * the same times share one grid and what follows from times alone: `lay` finds that out.
 */
export class WindowGrid {
  /** Window i holds the samples `from[i]` up to, not including, `to[i]`. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly range: number;
  readonly #ends: Float64Array;
  /** A copy: whoever lays a grid may use its buffer again. */
  #times = new Float64Array(0);
  #length = -1;
  /** The bytes of `#times`, and of the times that were shown last: buffers that are used again are mostly the same. */
  #bytes = bytesOf(this.#times);
  #shown: Float64Array = this.#times;
  #shownBytes = this.#bytes;
  #spans: RateSpans | null = null;

  /** Units: milliseconds. */
  constructor(range: number, timing: Timing, frame: Frame) {
    this.range = range;
    this.from = new Int32Array(frame.count);
    this.to = new Int32Array(frame.count);
    this.#ends = new Float64Array(frame.count);
    for (let step = 0; step < frame.count; step++) this.#ends[step] = referenceTime(frame, timing, step);
  }

  /** Puts the windows over rising times. */
  lay(times: Float64Array): void {
    if (this.#isLaid(times)) return;
    const { range, from, to } = this;
    const ends = this.#ends;
    const count = times.length;
    let low = 0;
    let high = 0;
    for (let step = 0; step < ends.length; step++) {
      const end = ends[step]!;
      const start = end - range;
      while (high < count && times[high]! <= end) high++;
      while (low < high && times[low]! <= start) low++;
      from[step] = low;
      to[step] = high;
    }
    if (this.#times.length < count) this.#times = new Float64Array(count);
    this.#times.set(times);
    this.#length = count;
    this.#bytes = bytesOf(this.#times.subarray(0, count));
    this.#spans = null;
  }

  /** What extrapolation needs of the times. */
  get spans(): RateSpans {
    return (this.#spans ??= new RateSpans(this.#times, this.from, this.to, this.#ends, this.range));
  }

  /** By bytes: that is many times as fast as number by number, and times are never NaN. */
  #isLaid(times: Float64Array): boolean {
    if (times.length !== this.#length) return false;
    if (times !== this.#shown) {
      this.#shown = times;
      this.#shownBytes = bytesOf(times);
    }
    return this.#bytes.equals(this.#shownBytes);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
