import { type Frame, referenceTime, type Timing } from '../frame.ts';
import { closeness } from './extrapolate.ts';

/** What the extrapolation of rates needs to know of the times of samples, for every step of a grid. Units: seconds. */
class RateSpans {
  /** From the first to the last sample of the window. */
  readonly interval: Float64Array;
  /** How far the interval is extended at its ends. A counter may be extended less at its start. */
  readonly toStart: Float64Array;
  readonly toEnd: Float64Array;
  /** The factor of the increase when the start is extended in full, and that factor divided by the range in seconds. */
  readonly factor: Float64Array;
  readonly perSecond: Float64Array;

  constructor(times: Float64Array, from: Int32Array, to: Int32Array, ends: Float64Array, range: number) {
    const steps = from.length;
    this.interval = new Float64Array(steps);
    this.toStart = new Float64Array(steps);
    this.toEnd = new Float64Array(steps);
    this.factor = new Float64Array(steps);
    this.perSecond = new Float64Array(steps);
    for (let step = 0; step < steps; step++) {
      const count = to[step]! - from[step]!;
      if (count < 2) continue;
      const first = times[from[step]!]!;
      const last = times[to[step]! - 1]!;
      const end = ends[step]!;
      const interval = (last - first) / 1000;
      const spacing = interval / (count - 1);
      const threshold = spacing * closeness;
      let toStart = (first - (end - range)) / 1000;
      if (toStart >= threshold) toStart = spacing / 2;
      let toEnd = (end - last) / 1000;
      if (toEnd >= threshold) toEnd = spacing / 2;
      this.interval[step] = interval;
      this.toStart[step] = toStart;
      this.toEnd[step] = toEnd;
      this.factor[step] = (interval + toStart + toEnd) / interval;
      this.perSecond[step] = this.factor[step]! / (range / 1000);
    }
  }
}

/**
 * The windows (end − range, end] of all steps over the times of a series, as index ranges. Series with the same sample
 * times share one grid and everything derived from times alone: `lay` detects this.
 */
export class WindowGrid {
  /** Window i holds the samples `from[i]` up to, not including, `to[i]`. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly range: number;
  readonly #ends: Float64Array;
  /** A copy: the caller of `lay` may reuse its buffer. */
  #times = new Float64Array(0);
  #length = -1;
  /** Byte views of `#times` and of the array that `lay` got last, which is mostly the same reused buffer. */
  #bytes = bytesOf(this.#times);
  #shown: Float64Array = this.#times;
  #shownBytes = this.#bytes;
  #spans: RateSpans | null = null;

  /** `range` in milliseconds. */
  constructor(range: number, timing: Timing, frame: Frame) {
    this.range = range;
    this.from = new Int32Array(frame.count);
    this.to = new Int32Array(frame.count);
    this.#ends = new Float64Array(frame.count);
    for (let step = 0; step < frame.count; step++) this.#ends[step] = referenceTime(frame, timing, step);
  }

  /** Computes the windows over ascending times. */
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

  /** The extrapolation data of the times. */
  get spans(): RateSpans {
    return (this.#spans ??= new RateSpans(this.#times, this.from, this.to, this.#ends, this.range));
  }

  /** Compares bytes, which is many times as fast as number by number; times are never NaN. */
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
