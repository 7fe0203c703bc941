import { fromUnits, toDoubles, toUnits } from './units.ts';

/**
 * Exact sums of one group, one for each step, as plain data that can be sent and merged.
 * Shape: arrays of one length (steps). At step i, `count[i]` values were added; the sum of the finite ones is exactly
 * `high[i] + low[i]` plus the doubles in `rest` for i; `special` counts NaN and infinities (null: none at all).
 */
export interface SumState {
  readonly count: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly rest: readonly { readonly step: number; readonly values: readonly number[] }[];
  readonly special: SpecialCounts | null;
}

/** How many NaN, +Inf and −Inf were added at each step. */
export interface SpecialCounts {
  readonly nan: Float64Array;
  readonly plus: Float64Array;
  readonly minus: Float64Array;
}

/**
 * Sums of many values for every step of a query, kept exactly: the result is the true sum rounded once. It depends
 * neither on the order of the values nor on their distribution over nodes, so a distributed sum equals a central one.
 * Two doubles (Shewchuk's expansion cut at two parts, each addition checked) are enough for ordinary data; a sum that
 * needs more becomes a big integer for that step alone.
 */
export class ExactSums {
  readonly count: Float64Array;
  readonly #high: Float64Array;
  readonly #low: Float64Array;
  #special: SpecialCounts | null = null;
  #rest: Map<number, bigint> | null = null;

  /** Empty sums for the given number of steps; or the sums of a state, whose arrays then belong to the object. */
  constructor(from: number | SumState) {
    if (typeof from === 'number') {
      this.count = new Float64Array(from);
      this.#high = new Float64Array(from);
      this.#low = new Float64Array(from);
      return;
    }
    ({ count: this.count, high: this.#high, low: this.#low, special: this.#special } = from);
    for (const { step, values } of from.rest) for (const value of values) this.#spill(step, toUnits(value));
  }

  /** Adds `values[i]` at every step i for which `kinds[i]` is `wanted`. */
  addAll(values: Float64Array, kinds: Uint8Array, wanted: number): void {
    const count = this.count;
    const high = this.#high;
    const low = this.#low;
    const steps = values.length;
    for (let i = 0; i < steps; i++) {
      if (kinds[i] !== wanted) continue;
      count[i] = count[i]! + 1;
      const value = values[i]!;
      const sum = high[i]!;
      const total = sum + value;
      const error = Math.abs(sum) >= Math.abs(value) ? sum - total + value : value - total + sum;
      if (error === 0) {
        high[i] = total;
        continue;
      }
      const kept = low[i]!;
      const next = kept + error;
      const lost = Math.abs(kept) >= Math.abs(error) ? kept - next + error : error - next + kept;
      // Also true after an overflow or for a value that is not finite: the errors are then NaN.
      if (lost !== 0) this.#addSlowly(i, value);
      else {
        high[i] = total;
        low[i] = next;
      }
    }
  }

  /** Adds all sums of another state. Returns true when the sums take more memory than before. */
  merge(state: SumState): boolean {
    const before = this.#extras;
    for (let i = 0; i < state.count.length; i++) this.#mergeStep(i, state, i);
    this.#mergeRest(state, null);
    return this.#extras > before;
  }

  /** Counts the parts that most sums do not need. */
  get #extras(): number {
    return (this.#special === null ? 0 : 1) + (this.#rest?.size ?? 0);
  }

  /** Adds the sums of a state with other steps: the sum of its step i is added at step `places[i]`. */
  mergeAt(state: SumState, places: ArrayLike<number>): void {
    for (let i = 0; i < state.count.length; i++) this.#mergeStep(places[i]!, state, i);
    this.#mergeRest(state, places);
  }

  #mergeStep(to: number, { count, high, low }: SumState, i: number): void {
    if (count[i] === 0) return;
    if (this.#high[to] === 0 && this.#low[to] === 0) {
      // Both doubles are still 0: those of the other sum are taken unchanged.
      this.#high[to] = high[i]!;
      this.#low[to] = low[i]!;
    } else {
      this.#addFinite(to, high[i]!);
      if (low[i] !== 0) this.#addFinite(to, low[i]!);
    }
    this.count[to]! += count[i]!;
  }

  #mergeRest({ count, rest, special }: SumState, places: ArrayLike<number> | null): void {
    for (const { step, values } of rest)
      for (const value of values) this.#spill(places === null ? step : places[step]!, toUnits(value));
    if (special === null) return;
    const own = this.#specials();
    for (let i = 0; i < count.length; i++) {
      const to = places === null ? i : places[i]!;
      own.nan[to]! += special.nan[i]!;
      own.plus[to]! += special.plus[i]!;
      own.minus[to]! += special.minus[i]!;
    }
  }

  /** The sum at a step, rounded once. */
  sum(step: number): number {
    const special = this.#specialValue(step);
    if (special !== null) return special;
    if (this.#rest?.has(step) !== true) return this.#high[step]! + this.#low[step]!;
    return fromUnits(this.#units(step));
  }

  /** The mean at a step. It is correct even when the sum exceeds the largest double. */
  mean(step: number): number {
    const special = this.#specialValue(step);
    if (special !== null) return special;
    const count = this.count[step]!;
    if (this.#rest?.has(step) !== true) {
      const [high, low] = [this.#high[step]!, this.#low[step]!];
      const sum = high + low;
      if (Number.isFinite(sum)) {
        const lost = Math.abs(high) >= Math.abs(low) ? high - sum + low : low - sum + high;
        return sum / count + lost / count;
      }
    }
    const units = this.#units(step);
    const sum = fromUnits(units);
    if (!Number.isFinite(sum)) return fromUnits((units << 64n) / BigInt(count), 64);
    return sum / count + fromUnits(units - toUnits(sum)) / count;
  }

  /** The state as plain data. The arrays are the object's own: do not use the object afterwards. */
  toState(): SumState {
    const rest = [...(this.#rest ?? [])].map(([step, units]) => ({ step, values: toDoubles(units) }));
    return { count: this.count, high: this.#high, low: this.#low, rest, special: this.#special };
  }

  #addSlowly(step: number, value: number): void {
    if (Number.isFinite(value)) {
      this.#addFinite(step, value);
      return;
    }
    const { nan, plus, minus } = this.#specials();
    (value > 0 ? plus : value < 0 ? minus : nan)[step]!++;
  }

  #addFinite(step: number, value: number): void {
    const sum = this.#high[step]!;
    const total = sum + value;
    if (!Number.isFinite(total)) {
      this.#spill(step, toUnits(sum) + toUnits(value));
      this.#high[step] = 0;
      return;
    }
    const error = Math.abs(sum) >= Math.abs(value) ? sum - total + value : value - total + sum;
    this.#high[step] = total;
    const kept = this.#low[step]!;
    const next = kept + error;
    const lost = Math.abs(kept) >= Math.abs(error) ? kept - next + error : error - next + kept;
    this.#low[step] = next;
    if (lost !== 0) this.#spill(step, toUnits(lost));
  }

  #spill(step: number, units: bigint): void {
    this.#rest ??= new Map();
    this.#rest.set(step, (this.#rest.get(step) ?? 0n) + units);
  }

  #specials(): SpecialCounts {
    const steps = this.count.length;
    this.#special ??= {
      nan: new Float64Array(steps),
      plus: new Float64Array(steps),
      minus: new Float64Array(steps),
    };
    return this.#special;
  }

  #specialValue(step: number): number | null {
    if (this.#special === null) return null;
    const { nan, plus, minus } = this.#special;
    if (nan[step]! > 0 || (plus[step]! > 0 && minus[step]! > 0)) return NaN;
    return plus[step]! > 0 ? Infinity : minus[step]! > 0 ? -Infinity : null;
  }

  #units(step: number): bigint {
    return toUnits(this.#high[step]!) + toUnits(this.#low[step]!) + (this.#rest?.get(step) ?? 0n);
  }
}
