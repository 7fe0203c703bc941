/**
 * Long computations on the event loop, cut into slices.
 * Flow: check `due` every few thousand elements; when it is true, await `next` and continue.
 */
export interface TurnTaking {
  /** True when the present slice has lasted long enough. */
  due(): boolean;
  /** Lets all other work run, then continues. */
  next(): Promise<void>;
}

/** The turns of one piece of work of a user. */
export interface OwnTurns extends TurnTaking {
  /** The work has ended. Calling it twice is harmless. */
  end(): void;
}

/** Length of a slice. The work between two checks of `due` comes on top. Units: ms. */
export const sliceMs = 10;
/**
 * Length of a slice while several users have work. It is short, because work that reads input may have to wait for
 * another user's slice after each read.
 */
export const sharedSliceMs = 1;

export interface FairTurnsOptions {
  /** Monotonic milliseconds. Default: those of the process. */
  readonly monotonic?: () => number;
  /**
   * Runs callbacks later, in the order of the calls: each in its own turn of the event loop, after everything that
   * became ready before it. Default: setImmediate.
   */
  readonly defer?: (run: () => void) => void;
  /** A user who begins to wait for a turn is at most this far below the least served who waits. Default 500 ms. */
  readonly creditMs?: number;
  /** Work that has computed less than this counts as short. Default 50 ms. */
  readonly shortMs?: number;
}

interface Work {
  /** Milliseconds computed so far. */
  used: number;
  /** Waiting calls, in the order of their requests: a query may read several selectors at a time. */
  readonly waiting: (() => void)[];
}

interface User {
  /** Milliseconds computed, counted from the user's starting value. */
  served: number;
  readonly works: Set<Work>;
}

interface Slice {
  readonly user: User;
  readonly work: Work;
  readonly started: number;
  readonly isLong: boolean;
}

interface Choice {
  readonly name: string;
  readonly user: User;
  readonly work: Work;
}

/** Maximum number of idle users whose served time is kept. */
const maxIdle = 1_000;
/** Milliseconds of short work for each millisecond of long work, when both wait. */
const shortWeight = 4;

/** Node's `setImmediate`, used without its types: the page compiles this file against the types of a browser. */
const nextRound = (run: () => void): unknown =>
  (globalThis as unknown as { setImmediate(run: () => void): unknown }).setImmediate(run);

/**
 * Shares the event loop between all long computations. However many there are, other work (requests, probes, timers)
 * waits for one slice and no more.
 * Short work precedes long work, which gets a fifth of the time when both wait. Within each class, the next slice goes
 * to the user who has been served least, and among that user's work to the piece that has computed least.
 * Guarantees: one waiter continues in each round of the event loop. Whatever others compute, a short piece of work
 * waits for one slice of long work, and for one more each time short work has computed four times as long as such a
 * slice. Users with endless work get equal shares. No work starves. Being idle repeatedly gains nothing, nor does work
 * that waits for something else than turns.
 * Source: start-time fair queueing (Goyal, Vin, Cheng 1996) with the credit and the `min_vruntime` that CFS has for
 * sleepers; two levels as in a multilevel feedback queue.
 */
export class FairTurns implements TurnTaking {
  readonly #monotonic: () => number;
  readonly #defer: (run: () => void) => void;
  readonly #creditMs: number;
  readonly #shortMs: number;
  /** The user served longest ago comes first. */
  readonly #users = new Map<string, User>();
  /** The served time of the least served user who waits or has just computed: its highest value since the start. */
  #least = -Infinity;
  /** Number of users that have work. */
  #busy = 0;
  /** Whether a callback for the next round of the event loop is pending. */
  #isOn = false;
  /** When the last slice began. */
  #since = -Infinity;
  /** The slice that may be running. */
  #slice: Slice | null = null;
  /** Time owed to long work for the short work that preceded it; and the duration of the last long slice. */
  #owed = 0;
  #longSliceMs = 0;

  constructor(options: FairTurnsOptions = {}) {
    this.#monotonic = options.monotonic ?? ((): number => performance.now());
    this.#defer = options.defer ?? nextRound;
    this.#creditMs = options.creditMs ?? 500;
    this.#shortMs = options.shortMs ?? 50;
  }

  due(): boolean {
    return this.#monotonic() - this.#since >= (this.#busy > 1 ? sharedSliceMs : sliceMs);
  }

  /** A turn for work of the process itself. Such work counts as short and continues in the order of the calls. */
  next(): Promise<void> {
    const own = this.begin('');
    return own.next().finally(() => own.end());
  }

  /**
   * A new piece of work. After the signal aborts it does not wait any more: its turns come at once, so that it can end.
   */
  begin(name: string, signal?: AbortSignal): OwnTurns {
    const user = this.#enter(name);
    const work: Work = { used: 0, waiting: [] };
    user.works.add(work);
    const hurry = (): void => {
      for (const resume of work.waiting.splice(0)) resume();
    };
    signal?.addEventListener('abort', hurry, { once: true });
    return {
      due: () => this.due(),
      next: () =>
        new Promise((resolve) => {
          if (signal?.aborted === true || !user.works.has(work)) return resolve();
          // Changes nothing for a user who waits already: their served time is part of `#least`.
          user.served = Math.max(user.served, this.#least - this.#creditMs);
          work.waiting.push(resolve);
          if (this.#isOn) return;
          this.#isOn = true;
          this.#ask();
        }),
      end: () => {
        if (!user.works.delete(work)) return;
        signal?.removeEventListener('abort', hurry);
        hurry();
        if (user.works.size === 0) this.#rest(name, user);
      },
    };
  }

  #enter(name: string): User {
    const known = this.#users.get(name);
    if (known !== undefined && known.works.size > 0) return known;
    // `next` raises a later user's time to where the others are.
    const user = known ?? { served: this.#least === -Infinity ? 0 : -Infinity, works: new Set() };
    this.#busy++;
    this.#users.set(name, user);
    return user;
  }

  /** Keeps the served time of an idle user, for at most `maxIdle` users. */
  #rest(name: string, user: User): void {
    this.#busy--;
    this.#users.delete(name);
    this.#users.set(name, user);
    let idle = 0;
    for (const { works } of this.#users.values()) if (works.size === 0) idle++;
    if (idle <= maxIdle) return;
    for (const [other, { works }] of this.#users) if (works.size === 0) return void this.#users.delete(other);
  }

  /** Defers a slice and, directly after it, the accounting, so that only the slice itself is charged. */
  #ask(): void {
    this.#defer(() => this.#serve());
    this.#defer(() => this.#settle());
  }

  #settle(): void {
    if (this.#slice !== null) this.#charge(this.#slice);
    const [short, long] = this.#candidates();
    const present = [this.#slice, short, long].flatMap((one) => (one === null ? [] : [one.user.served]));
    if (this.#slice !== null) this.#least = Math.max(this.#least, Math.min(...present));
    this.#slice = null;
    this.#isOn = short !== null || long !== null;
    if (long === null) this.#owed = 0;
    if (this.#isOn) this.#ask();
  }

  #charge({ user, work, started, isLong }: Slice): void {
    const took = this.#monotonic() - started;
    user.served += took;
    work.used += took;
    if (isLong) this.#longSliceMs = took;
    this.#owed = Math.max(0, isLong ? this.#owed - took : this.#owed + took / shortWeight);
  }

  #serve(): void {
    const [short, long] = this.#candidates();
    const isLongDue = long !== null && this.#owed > 0 && this.#owed >= this.#longSliceMs;
    const chosen = short === null || isLongDue ? long : short;
    // A waiter may have been aborted in the meantime.
    if (chosen === null) return;
    const { name, user, work } = chosen;
    // A user who was served last comes last among equals.
    this.#users.delete(name);
    this.#users.set(name, user);
    this.#since = this.#monotonic();
    this.#slice = { user, work, started: this.#since, isLong: work.used >= this.#shortMs };
    work.waiting.shift()?.();
  }

  /** The next short and the next long work; null when none waits. */
  #candidates(): [short: Choice | null, long: Choice | null] {
    const found: [Choice | null, Choice | null] = [null, null];
    for (const [name, user] of this.#users) {
      for (const work of user.works) {
        if (work.waiting.length === 0) continue;
        const level = work.used < this.#shortMs ? 0 : 1;
        const best = found[level];
        const isBetter =
          best === null || user.served < best.user.served || (user === best.user && work.used < best.work.used);
        if (isBetter) found[level] = { name, user, work };
      }
    }
    return found;
  }
}
