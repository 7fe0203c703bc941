import { changeCount } from './collections/counts.ts';
import { OperatorError } from './errors.ts';
import { LinkedAbort } from './linked-abort.ts';

/** Where a piece of work takes its memory from. Units: bytes. */
export interface Memory {
  /** Reserves memory before it is allocated. Returns null, or the reason why nothing is reserved. */
  take(bytes: number): Shortage | null;
  give(bytes: number): void;
}

/** Why memory was refused. */
export interface Shortage {
  /** Names the memory in use and the limit. */
  readonly message: string;
  /** False when the work alone needs more than the limit: waiting would not help. */
  readonly mayPass: boolean;
}

const gaveWay: Shortage = { message: 'the query gave way to those of users who hold less memory', mayPass: true };

export interface MemoryPoolOptions {
  readonly limitBytes: number;
  /** Bytes of each account that do not count against the limit, so that small work never waits. Default 2 MiB. */
  readonly freeBytes?: number;
}

interface Waiting {
  readonly account: MemoryAccount;
  /** What the account is likely to hold in all once it is admitted. */
  readonly needBytes: number;
  readonly admit: () => void;
  readonly refuse: () => void;
}

/**
 * Memory that all long work of a process shares.
 * Flow: open an account for a request, `run` its work, reserve memory from the parts of the lease, close the account
 * when the answer has been sent.
 * Guarantees: the memory that accounts hold beyond their free bytes stays within the limit, except for what ended work
 * still has to give back at its next turn. Work that waits holds nothing, so partial results never wait for other partial
 * results. Its account may hold the results of earlier work: when all accounts that hold memory wait, and none of those
 * that wait can be admitted, the largest is refused. When memory is short, the pool ends the largest account of the user who holds most, if that user
 * holds more than the requesting user would; otherwise it ends the requesting account. Ended work runs again from its
 * start.
 * Assumptions: work throws when memory is refused, and may be run again. A request takes its place before it holds
 * memory: the work that has the places may wait for that memory.
 */
export class MemoryPool {
  readonly limitBytes: number;
  readonly freeBytes: number;
  readonly #accounts = new Set<MemoryAccount>();
  readonly #heldBy = new Map<string, number>();
  readonly #line: Waiting[] = [];
  #held = 0;
  #restarts = 0;
  /** Memory that ended accounts have not given back yet. */
  #leaving = 0;

  constructor({ limitBytes, freeBytes = 2 * 1024 ** 2 }: MemoryPoolOptions) {
    this.limitBytes = limitBytes;
    this.freeBytes = freeBytes;
  }

  /** How often work was ended and restarted for lack of memory, since the start. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Bytes that all accounts hold beyond their free bytes. */
  get heldBytes(): number {
    return this.#held;
  }

  /**
   * An account for one request of a user. `end` is called when the pool needs the account's memory while none of its
   * work runs, such as while the client reads the answer; without `end` the account keeps its memory.
   */
  open(user: string, end?: () => void): MemoryAccount {
    const account = new MemoryAccount(this, user, end);
    this.#accounts.add(account);
    return account;
  }

  /** For accounts only: charges the account for `bytes` in all, or returns why it may not hold that many. */
  grow(account: MemoryAccount, bytes: number): Shortage | null {
    const charge = Math.max(0, bytes - this.freeBytes);
    if (charge > this.limitBytes) {
      const message = `the query would hold ${bytes} bytes of memory, all queries together may hold ${this.limitBytes}`;
      return { message, mayPass: false };
    }
    const more = charge - account.charge;
    const short = more > 0 ? this.#held - this.#leaving + more - this.limitBytes : 0;
    if (account.isEnded) return gaveWay;
    if (short > 0 && !this.#makeRoom(account.user, more, short)) {
      const held = `${this.#held} of ${this.limitBytes} bytes of memory`;
      return { message: `all queries together hold ${held}, and this one needs ${more} more`, mayPass: true };
    }
    this.#charge(account, charge);
    return null;
  }

  /** For accounts only: records that the account holds fewer bytes now. */
  shrink(account: MemoryAccount, bytes: number): void {
    this.#charge(account, Math.max(0, bytes - this.freeBytes));
    this.#admit();
  }

  /** For accounts only: records that an ended account has given back all its memory. */
  settle(account: MemoryAccount): void {
    this.#leaving -= account.charge;
    account.isEnded = false;
  }

  close(account: MemoryAccount): void {
    this.#accounts.delete(account);
    this.#charge(account, 0);
    this.#admit();
  }

  /**
   * Waits until an account can hold `needBytes` in all, which are then reserved for it.
   * Errors: the signal's reason; ERR_QUERY_MEMORY if it waits for accounts that wait for it.
   */
  wait(account: MemoryAccount, needBytes: number, signal: AbortSignal): Promise<void> {
    this.#restarts++;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const leave = (): void => {
        signal.removeEventListener('abort', onAbort);
        this.#line.splice(this.#line.indexOf(waiting), 1);
      };
      const waiting = {
        account,
        needBytes,
        admit: () => {
          leave();
          account.reserve(needBytes);
          resolve();
        },
        refuse: () => {
          leave();
          reject(new OperatorError('ERR_QUERY_MEMORY', account.shortage?.message ?? ''));
        },
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason as Error);
        this.#admit();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#line.push(waiting);
      this.#admit();
    });
  }

  /**
   * Admits waiting accounts while there is room. The next account is the one whose user holds least; among equals, the
   * one that has waited longest. The others wait until it is admitted, so that it does not starve. If nothing but
   * accounts that wait holds memory, the next is one for which there is room; without one, the largest is refused.
   */
  #admit(): void {
    for (;;) {
      let next = this.#nextOf(this.#line);
      if (next === undefined) return;
      if (!this.#hasRoom(next)) {
        if (!this.#allWait()) return;
        next = this.#nextOf(this.#line.filter((one) => this.#hasRoom(one)));
        if (next === undefined)
          return this.#line.reduce((a, b) => (b.account.charge > a.account.charge ? b : a)).refuse();
      }
      next.admit();
    }
  }

  #nextOf(line: readonly Waiting[]): Waiting | undefined {
    let next: Waiting | undefined;
    for (const one of line) {
      if (next === undefined || this.#heldOf(one.account.user) < this.#heldOf(next.account.user)) next = one;
    }
    return next;
  }

  #hasRoom({ account, needBytes }: Waiting): boolean {
    const others = this.#held - account.charge;
    return others + Math.max(account.charge, needBytes - this.freeBytes) <= this.limitBytes;
  }

  /** Whether all memory is held by accounts that wait, and none will come free without one of them. */
  #allWait(): boolean {
    if (this.#leaving > 0) return false;
    for (const one of this.#accounts) {
      if (one.charge > 0 && (one.runs || !this.#line.some(({ account }) => account === one))) return false;
    }
    return true;
  }

  /**
   * Ends accounts of users who hold more than the requesting one, the largest first. Returns false, and ends none, when
   * that would not be enough.
   */
  #makeRoom(user: string, more: number, short: number): boolean {
    const own = this.#heldOf(user) + more;
    const victims: MemoryAccount[] = [];
    const left = new Map(this.#heldBy);
    for (let room = 0; room < short;) {
      let largest: MemoryAccount | undefined;
      for (const one of this.#accounts) {
        if (one.user === user || !one.mayEnd || victims.includes(one) || left.get(one.user)! <= own) continue;
        if (largest === undefined) largest = one;
        else {
          const [a, b] = [left.get(one.user)!, left.get(largest.user)!];
          if (a > b || (a === b && one.charge > largest.charge)) largest = one;
        }
      }
      if (largest === undefined) return false;
      victims.push(largest);
      room += largest.charge;
      left.set(largest.user, left.get(largest.user)! - largest.charge);
    }
    for (const one of victims) {
      one.isEnded = true;
      this.#leaving += one.charge;
    }
    for (const one of victims) one.end();
    return true;
  }

  #heldOf(user: string): number {
    return this.#heldBy.get(user) ?? 0;
  }

  #charge(account: MemoryAccount, charge: number): void {
    const change = charge - account.charge;
    account.charge = charge;
    this.#held += change;
    if (account.isEnded) this.#leaving += change;
    changeCount(this.#heldBy, account.user, change);
  }
}

/** The memory source of one run of an account's work. */
export interface MemoryLease {
  /** Aborts with the signal of the run, and when the account has to give way. */
  readonly signal: AbortSignal;
  /** Memory of one part of the work, which can be given back as a whole. */
  part(): MemoryPart;
}

interface Run {
  readonly abort: LinkedAbort;
  readonly parts: Set<MemoryPart>;
  shortage: Shortage | null;
  /** The bytes that the account held, together with any that were refused. */
  wanted: number;
}

/** The memory of one request. */
export class MemoryAccount {
  readonly user: string;
  readonly #pool: MemoryPool;
  readonly #end: (() => void) | undefined;
  readonly #runs = new Set<Run>();
  #held = 0;
  #reserved = 0;
  #closed = false;
  /** For the pool: the bytes that count against its limit, and whether the account was ended to free memory. */
  charge = 0;
  isEnded = false;
  /** Why the last run had to give way. */
  shortage: Shortage | null = null;

  constructor(pool: MemoryPool, user: string, end: (() => void) | undefined) {
    this.#pool = pool;
    this.user = user;
    this.#end = end;
  }

  /** Whether work of it runs; work that waits does not. */
  get runs(): boolean {
    return this.#runs.size > 0;
  }

  get mayEnd(): boolean {
    return !this.isEnded && this.charge > 0 && (this.runs || this.#end !== undefined);
  }

  /**
   * Runs work. Work that was ended for lack of memory runs again from its start once enough memory is available: what
   * it wanted, or twice what was reserved for the previous run, if that is more.
   * Errors: those of the work; the signal's reason; ERR_QUERY_MEMORY, as `MemoryPool.wait`.
   */
  async run<T>(signal: AbortSignal, work: (lease: MemoryLease) => Promise<T>): Promise<T> {
    const { limitBytes, freeBytes } = this.#pool;
    let needBytes = 0;
    for (;;) {
      const run: Run = { abort: new LinkedAbort(signal), parts: new Set(), shortage: null, wanted: 0 };
      this.#runs.add(run);
      const part = (): MemoryPart => {
        const one = new MemoryPart((change) => this.#change(run, change));
        run.parts.add(one);
        return one;
      };
      try {
        return await work({ signal: run.abort.signal, part });
      } catch (error) {
        for (const one of run.parts) one.close();
        this.shortage = run.shortage;
        if (run.shortage === null || !run.shortage.mayPass || signal.aborted) throw error;
      } finally {
        this.#runs.delete(run);
        run.abort.release();
        if (this.isEnded) this.#pool.settle(this);
        this.#unreserve();
      }
      needBytes = Math.min(limitBytes + freeBytes, Math.max(run.wanted, 2 * needBytes));
      await this.#pool.wait(this, needBytes, signal);
    }
  }

  /**
   * Closes the account after the answer has been sent. From then on it holds nothing, whatever its work still does.
   * Calling it twice is harmless.
   */
  close(): void {
    this.#closed = true;
    this.#held = this.#reserved = 0;
    if (this.isEnded) this.#pool.settle(this);
    this.#pool.close(this);
  }

  /** For the pool: reserves the memory for the next run, and for what the account holds already. */
  reserve(bytes: number): void {
    if (this.#closed) return;
    this.#reserved = bytes;
    this.#pool.grow(this, Math.max(this.#reserved, this.#held));
  }

  /** For the pool: ends the account. */
  end(): void {
    if (this.#runs.size === 0) return this.#end?.();
    for (const run of this.#runs) {
      run.shortage = gaveWay;
      run.wanted = this.#held;
      run.abort.abort(new Error(gaveWay.message));
    }
  }

  #change(run: Run, bytes: number): Shortage | null {
    if (this.#closed) return null;
    const held = this.#held + bytes;
    if (bytes <= 0) {
      this.#held = held;
      this.#pool.shrink(this, Math.max(held, this.#reserved));
      return null;
    }
    const shortage = this.#pool.grow(this, Math.max(held, this.#reserved));
    if (shortage === null) this.#held = held;
    else {
      run.shortage = shortage;
      run.wanted = Math.max(run.wanted, held);
    }
    return shortage;
  }

  #unreserve(): void {
    this.#reserved = 0;
    this.#pool.shrink(this, this.#held);
  }
}

/** Memory of a piece of work. After it is closed it holds nothing, and further reservations have no effect. */
export class MemoryPart implements Memory {
  readonly #change: (bytes: number) => Shortage | null;
  #held = 0;
  #isClosed = false;

  constructor(change: (bytes: number) => Shortage | null) {
    this.#change = change;
  }

  take(bytes: number): Shortage | null {
    if (this.#isClosed) return null;
    const shortage = this.#change(bytes);
    if (shortage === null) this.#held += bytes;
    return shortage;
  }

  give(bytes: number): void {
    if (this.#isClosed) return;
    this.#held -= bytes;
    this.#change(-bytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#change(-this.#held);
  }
}

/**
 * Default memory of all queries together: half of the container's limit from `process.constrainedMemory()`; without a
 * limit, half of `unconstrainedBytes`.
 */
export function defaultPoolBytes(constrainedBytes: number | undefined, unconstrainedBytes: number): number {
  // Without a limit Node returns undefined, 0, or a number beyond any memory, as the kernel reports it.
  const known = constrainedBytes !== undefined && constrainedBytes > 0 && constrainedBytes < 2 ** 50;
  return Math.floor((known ? constrainedBytes : unconstrainedBytes) / 2);
}

/** A pool without a limit, for parts that run alone. */
export function unlimitedMemory(): MemoryPool {
  return new MemoryPool({ limitBytes: Infinity });
}
