import { closeness } from './extrapolate.ts';

/** The share of extrapolation that depends on times alone, for every step of a grid. Units: seconds. */
export class RateSpans {
  /** From the first to the last sample of the window. */
  readonly interval: Float64Array;
  /** How far the ends are stretched; a counter may stretch less at its start. */
  readonly toStart: Float64Array;
  readonly toEnd: Float64Array;
  /** The whole factor where the start is stretched fully, and the same per second of the range. */
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
