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

/** Adding to a big integer, and rounding one, cost as much as this many samples. */
const [addWork, roundWork] = [250, 500];
/** After so much work on big integers, the caller gets control. */
const workAtOnce = 20_000;
/** Memory of a step's big integer of up to 2,100 bits and of its entry in a map. Units: samples of 16 bytes. */
const restWeight = 19;
/** Memory of a step's counts of values that are not finite. Units: samples of 16 bytes. */
const specialWeight = 1.5;

/**
 * Sums of many values for every step of a query, kept exactly: the result is the true sum rounded once. It depends
 * neither on the order of the values nor on their distribution over nodes, so a distributed sum equals a central one.
 * Two doubles (Shewchuk's expansion cut at two parts, each addition checked) are enough for ordinary data; a sum that
 * needs more becomes a big integer for that step alone. This costs a hundred times the time of a double: see `takeWork`.
 */
export class ExactSums {
  readonly count: Float64Array;
  readonly #high: Float64Array;
  readonly #low: Float64Array;
  #special: SpecialCounts | null = null;
  #rest: Map<number, bigint> | null = null;
  #work = 0;
  #grown = 0;

  /** Empty sums for the given number of steps; or those of a state without its `rest`: `from` makes complete ones. */
  constructor(from: number | Omit<SumState, 'rest'>) {
    if (typeof from === 'number') {
      this.count = new Float64Array(from);
      this.#high = new Float64Array(from);
      this.#low = new Float64Array(from);
      return;
    }
    ({ count: this.count, high: this.#high, low: this.#low, special: this.#special } = from);
  }

  /** The sums of a state, whose arrays then belong to the object. Yields the work of each piece. */
  static *from(state: SumState): Generator<number, ExactSums> {
    const sums = new ExactSums(state);
    yield* sums.#mergeRest(state, null);
    return sums;
  }

  /** The work on big integers since the last call. Units: samples, as in a Pacing. */
  takeWork(): number {
    const work = this.#work;
    this.#work = 0;
    return work;
  }

  /** The growth of `extra` since the last call. */
  takeGrowth(): number {
    const grown = this.#grown;
    this.#grown = 0;
    return grown;
  }

  /** Memory of what most sums do not need. Units: samples of 16 bytes. */
  get extra(): number {
    const special = this.#special === null ? 0 : Math.ceil(specialWeight * this.count.length);
    return special + restWeight * (this.#rest?.size ?? 0);
  }

  /**
   * Adds `values[i]` at every step i from `from` on for which `kinds[i]` is `wanted`. It stops after much work on big
   * integers, which the caller must take, and returns the step at which it is to be continued; after the last step,
   * the number of steps.
   */
  addAll(values: Float64Array, kinds: Uint8Array, wanted: number, from = 0): number {
    const count = this.count;
    const high = this.#high;
    const low = this.#low;
    const steps = values.length;
    for (let i = from; i < steps; i++) {
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
      if (lost !== 0) {
        this.#addSlowly(i, value);
        if (this.#work >= workAtOnce) return i + 1;
      } else {
        high[i] = total;
        low[i] = next;
      }
    }
    return steps;
  }

  /**
   * Adds all sums of another state, from step `first` on; with `places`, of one with other steps, whose step i is added
   * at `places[i]`.
   * Yields the work of each piece. Other states may be added in between.
   */
  *merge(state: SumState, places: ArrayLike<number> | null = null, first = 0): Generator<number, void> {
    const steps = state.count.length;
    for (let i = first; i < steps;) {
      const from = i;
      i = this.#mergeSteps(state, places, from);
      yield i - from + this.takeWork();
    }
    this.#mergeSpecial(state, places);
    yield* this.#mergeRest(state, places);
  }

  /**
   * Adds the first piece of another state. Returns the work if that is all, as it mostly is, else what adds the rest, as
   * `merge` does.
   */
  mergeFirst(state: SumState): number | Generator<number, void> {
    const next = this.#mergeSteps(state, null, 0);
    if (next < state.count.length || state.special !== null || state.rest.length > 0) return this.#goOn(state, next);
    return next + this.takeWork();
  }

  *#goOn(state: SumState, from: number): Generator<number, void> {
    yield from + this.takeWork();
    yield* this.merge(state, null, from);
  }

  /** Adds one piece, from a step on, and returns the step after it. */
  #mergeSteps(state: SumState, places: ArrayLike<number> | null, from: number): number {
    const to = Math.min(state.count.length, from + workAtOnce);
    for (let i = from; i < to; i++) {
      this.#mergeStep(places === null ? i : places[i]!, state, i);
      if (this.#work >= workAtOnce) return i + 1;
    }
    return to;
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

  *#mergeRest({ rest }: SumState, places: ArrayLike<number> | null): Generator<number, void> {
    for (const { step, values } of rest) {
      // Usually there are few values. A sum far beyond the largest double has very many.
      for (const value of values) {
        this.#spill(places === null ? step : places[step]!, toUnits(value));
        if (this.#work >= workAtOnce) yield this.takeWork();
      }
    }
    if (this.#work > 0) yield this.takeWork();
  }

  #mergeSpecial({ count, special }: SumState, places: ArrayLike<number> | null): void {
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
    this.#work += roundWork;
    const sum = fromUnits(units);
    if (!Number.isFinite(sum)) return fromUnits((units << 64n) / BigInt(count), 64);
    return sum / count + fromUnits(units - toUnits(sum)) / count;
  }

  /**
   * The state as plain data. The arrays are the object's own: do not use the object afterwards. Yields the work of each
   * piece.
   */
  *toState(): Generator<number, SumState> {
    const rest: { step: number; values: number[] }[] = [];
    for (const [step, units] of this.#rest ?? []) {
      const values: number[] = [];
      rest.push({ step, values });
      for (const value of toDoubles(units)) {
        values.push(value);
        this.#work += roundWork;
        if (this.#work >= workAtOnce) yield this.takeWork();
      }
    }
    if (this.#work > 0) yield this.takeWork();
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
    this.#work += addWork;
    this.#rest ??= new Map();
    const known = this.#rest.get(step);
    if (known === undefined) this.#grown += restWeight;
    this.#rest.set(step, (known ?? 0n) + units);
  }

  #specials(): SpecialCounts {
    if (this.#special !== null) return this.#special;
    const steps = this.count.length;
    this.#special = { nan: new Float64Array(steps), plus: new Float64Array(steps), minus: new Float64Array(steps) };
    this.#work += 3 * steps;
    this.#grown += Math.ceil(specialWeight * steps);
    return this.#special;
  }

  #specialValue(step: number): number | null {
    if (this.#special === null) return null;
    const { nan, plus, minus } = this.#special;
    if (nan[step]! > 0 || (plus[step]! > 0 && minus[step]! > 0)) return NaN;
    return plus[step]! > 0 ? Infinity : minus[step]! > 0 ? -Infinity : null;
  }

  #units(step: number): bigint {
    this.#work += roundWork;
    return toUnits(this.#high[step]!) + toUnits(this.#low[step]!) + (this.#rest?.get(step) ?? 0n);
  }
}
