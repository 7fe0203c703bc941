import type { Clock } from '../base/clock.ts';

interface Timer {
  at: number;
  seq: number;
  fn: () => void;
}

/** A clock whose time moves only when a test moves it. Timers fire by due time; of equal ones, the oldest first. */
export class FakeClock implements Clock {
  #now: number;
  #mono = 0;
  #seq = 0;
  #timers: Timer[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#mono;
  }

  setTimeout(fn: () => void, ms: number): () => void {
    const timer: Timer = { at: this.#mono + Math.max(0, ms), seq: this.#seq++, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((t) => t !== timer);
    };
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves only the wall clock, as an NTP step or a skewed machine would. */
  jumpWall(ms: number): void {
    this.#now += ms;
  }

  /** Moves time forward and runs every timer that comes due, letting promises settle between them. */
  async advance(ms: number): Promise<void> {
    const end = this.#mono + ms;
    await settle();
    for (;;) {
      const due = this.#timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at || a.seq - b.seq)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((t) => t !== due);
      this.#move(due.at);
      due.fn();
      await settle();
    }
    this.#move(end);
    await settle();
  }

  #move(to: number): void {
    this.#now += to - this.#mono;
    this.#mono = to;
  }
}

/** Lets every promise chain that is ready run to its next wait. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
