import type { Clock } from '../base/clock.ts';

/** A step forward of at most this much counts at once. Units: ms. */
const smallStepMs = 600_000;
/** A larger step counts once it has lasted this long. Units: ms. */
const provenAfterMs = 3_600_000;

/**
 * The wall clock, but a large step forward counts only once it has lasted for an hour. Retention uses this time, so a
 * clock that runs ahead for less than an hour deletes nothing, as when a node boots with a wrong clock or a virtual
 * machine resumes.
 * Assumptions: `now` is called every few minutes or more often.
 * Caveats: after a true step forward this time stays behind for an hour.
 */
export class LastingTime {
  readonly #clock: Clock;
  /** Wall clock minus monotonic clock, ms: the one that counts, and a larger one with the time of its first reading. */
  #offset: number;
  #unproven: { readonly offset: number; readonly sinceMs: number } | undefined;

  /** `knownMs`: a time that has passed for certain. Default: now. Units: ms since the epoch. */
  constructor(clock: Clock, knownMs: number | undefined) {
    this.#clock = clock;
    this.#offset = (knownMs ?? clock.now()) - clock.monotonic();
  }

  /** Units: ms since the epoch. */
  now(): number {
    const mono = this.#clock.monotonic();
    const offset = this.#clock.now() - mono;
    if (offset - this.#offset > smallStepMs) {
      if (!this.#unproven || Math.abs(offset - this.#unproven.offset) > smallStepMs) {
        this.#unproven = { offset, sinceMs: mono };
      }
      if (mono - this.#unproven.sinceMs < provenAfterMs) return mono + this.#offset;
    }
    this.#offset = offset;
    this.#unproven = undefined;
    return mono + offset;
  }
}
