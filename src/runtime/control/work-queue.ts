import type { Clock } from '../../base/clock.ts';
import { Heap } from '../../base/collections/heap.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import { RetryLimiter } from './rate-limiter.ts';

/** A key of low priority that waited this long gets every fourth turn. Units: ms. */
const patienceMs = 10_000;
const patientTurn = 4;

/** Start-up work and resyncs run after changes, for which a user may be waiting. Source: controller-runtime. */
export const lowPriority = -100;

export interface AddOptions {
  /** The earliest time of the run, in ms from now. */
  afterMs?: number | undefined;
  /** A key of higher priority runs first. Default 0. */
  priority?: number | undefined;
  /** Why the key is added, for logs and spans. With several adds the first reason is kept. Default `add`. */
  reason?: string | undefined;
}

/** A waiting key. What the heaps compare never changes: a change of the key makes a new entry, and the old is stale. */
interface Entry {
  readonly key: string;
  readonly priority: number;
  readonly reason: string;
  /** Order among equals: first come, first served. */
  readonly order: number;
  /** Monotonic ms. */
  readonly readyAt: number;
  /** Since when it has been ready. */
  readonly waitingSince: number;
  /** The entry is in the ready heap, so it counts in the depth of the queue. */
  ready: boolean;
}

export interface WorkItem {
  key: string;
  priority: number;
  reason: string;
  /** Failures in a row before this run. */
  attempt: number;
}

/**
 * Keys to work on.
 *
 * Guarantees: a key is in the queue at most once (a duplicate takes the higher priority and the earlier time); it is
 * never handed out while it is being worked on; an add during work leads to exactly one more run; order is priority,
 * then first come; a key that runs again goes to the end of the line; keys of low (negative) priority do not wait for
 * ever, because every fourth turn goes to the one that has waited longest, if it has waited for more than ten seconds.
 * Assumptions: every item that `take` returned comes back through `done`.
 */
export class WorkQueue {
  readonly limiter: RetryLimiter;
  readonly #clock: Clock;
  readonly #metrics: RuntimeMetrics | undefined;
  readonly #labels: { name: string; controller: string };
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Map<string, number>();
  readonly #ready = new Heap<Entry>(
    (a, b) => a.priority > b.priority || (a.priority === b.priority && a.order < b.order),
  );
  readonly #delayed = new Heap<Entry>((a, b) => a.readyAt < b.readyAt);
  /** The ready entries of low priority, ordered by how long they have waited. They are in `#ready`, too. */
  readonly #patient = new Heap<Entry>((a, b) => a.waitingSince < b.waitingSince);
  readonly #takers: ((item: WorkItem | undefined) => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #timerAt = Infinity;
  #orders = 0;
  #depth = 0;
  #turns = 0;
  #stopped = false;

  constructor(name: string, clock: Clock, metrics?: RuntimeMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#labels = { name, controller: name };
    this.limiter = new RetryLimiter(() => clock.monotonic());
  }

  /** Keys waiting to run now or later, without the running ones. */
  get size(): number {
    return this.#entries.size;
  }

  /** Nothing is running and nothing is ready. */
  get idle(): boolean {
    return this.#running.size === 0 && this.#depth === 0;
  }

  /** Keys that are running. */
  get active(): number {
    return this.#running.size;
  }

  add(key: string, options: AddOptions = {}): void {
    if (this.#stopped) return;
    this.#metrics?.queueAdds.inc(this.#labels);
    const now = this.#clock.monotonic();
    // NaN counts as 0: in the heap it would hide every key behind it.
    const readyAt = now + (Math.max(0, options.afterMs ?? 0) || 0);
    const priority = options.priority ?? 0;
    const known = this.#entries.get(key);
    if (known && known.priority >= priority && known.readyAt <= readyAt) {
      // A delayed key may be due already while its timer is late.
      if (!known.ready && known.readyAt <= now) this.#ripen();
      return;
    }
    if (known) this.#setReady(known, false);
    const earliest = Math.min(known?.readyAt ?? Infinity, readyAt);
    this.#place({
      key,
      priority: Math.max(known?.priority ?? -Infinity, priority),
      reason: known?.reason ?? options.reason ?? 'add',
      order: known?.order ?? this.#orders++,
      readyAt: earliest,
      waitingSince: Math.max(earliest, now),
      ready: false,
    });
    this.#dispatch();
  }

  /** Adds a failed key, after its back-off and no sooner than `atLeastMs`. Returns the delay in ms. */
  retry(key: string, options: { priority?: number; atLeastMs?: number } = {}): number {
    this.#metrics?.queueRetries.inc(this.#labels);
    const afterMs = Math.max(this.limiter.next(key), options.atLeastMs || 0);
    this.add(key, { afterMs, priority: options.priority, reason: 'retry' });
    return afterMs;
  }

  /** The next key, as soon as there is one; undefined after the queue was stopped. */
  take(): Promise<WorkItem | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const item = this.#next();
    if (item) return Promise.resolve(item);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Work on the key has ended, with or without success. */
  done(key: string): void {
    const since = this.#running.get(key);
    if (since === undefined) return;
    this.#running.delete(key);
    const now = this.#clock.monotonic();
    this.#metrics?.queueWork.observe(this.#labels, (now - since) / 1000);
    const again = this.#entries.get(key);
    if (again) this.#place({ ...again, waitingSince: Math.max(again.readyAt, now) });
    this.#dispatch();
  }

  /** Hands out no further key; waiting keys are dropped, running ones may finish. */
  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#entries.clear();
    this.#depth = 0;
    this.#metrics?.queueDepth.set(this.#labels, 0);
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  /** The key that has been running longest, and for how long in ms. */
  longestRunning(): { key: string; ms: number } | undefined {
    const now = this.#clock.monotonic();
    let longest: { key: string; ms: number } | undefined;
    for (const [key, since] of this.#running) {
      if (!longest || now - since > longest.ms) longest = { key, ms: now - since };
    }
    return longest;
  }

  /** Updates the gauges that grow with time; call before a scrape. */
  observe(): void {
    const now = this.#clock.monotonic();
    const ages = [...this.#running.values()].map((since) => (now - since) / 1000);
    this.#metrics?.queueUnfinished.set(
      this.#labels,
      ages.reduce((sum, age) => sum + age, 0),
    );
    this.#metrics?.queueLongest.set(this.#labels, Math.max(0, ...ages));
  }

  /** Makes the entry that of its key, in its heap. While the key is running, it waits outside both heaps for `done`. */
  #place(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    if (this.#running.has(entry.key)) return;
    if (entry.readyAt <= this.#clock.monotonic()) this.#pushReady(entry);
    else {
      // Keys that are moved forward repeatedly would pile up stale entries.
      if (this.#delayed.size > 2 * this.#entries.size + 64) this.#delayed.keep((e) => this.#alive(e));
      this.#delayed.push(entry);
      this.#arm();
    }
  }

  #pushReady(entry: Entry): void {
    this.#ready.push(entry);
    if (entry.priority < 0) this.#patient.push(entry);
    this.#setReady(entry, true);
  }

  #dispatch(): void {
    while (this.#takers.length > 0) {
      const item = this.#next();
      if (!item) return;
      this.#takers.shift()!(item);
    }
  }

  #next(): WorkItem | undefined {
    for (let entry = this.#popReady(); entry; entry = this.#popReady()) {
      if (!this.#alive(entry)) continue;
      this.#turns++;
      const now = this.#clock.monotonic();
      this.#setReady(entry, false);
      this.#entries.delete(entry.key);
      this.#running.set(entry.key, now);
      this.#metrics?.queueDuration.observe(this.#labels, Math.max(0, now - entry.waitingSince) / 1000);
      return {
        key: entry.key,
        priority: entry.priority,
        reason: entry.reason,
        attempt: this.limiter.failures(entry.key),
      };
    }
    return undefined;
  }

  /**
   * The next entry, which may be stale. On every fourth turn, the one of low priority that has waited longest, if it
   * has waited for too long.
   */
  #popReady(): Entry | undefined {
    while (this.#patient.size > 0 && !this.#alive(this.#patient.peek()!)) this.#patient.pop();
    const oldest = this.#patient.peek();
    const due = oldest && this.#turns % patientTurn === patientTurn - 1;
    return due && this.#clock.monotonic() - oldest.waitingSince > patienceMs ? oldest : this.#ready.pop();
  }

  /** Whether it is still the entry of its key. */
  #alive(entry: Entry): boolean {
    return this.#entries.get(entry.key) === entry;
  }

  #setReady(entry: Entry, ready: boolean): void {
    if (entry.ready === ready) return;
    entry.ready = ready;
    this.#depth += ready ? 1 : -1;
    this.#metrics?.queueDepth.set(this.#labels, this.#depth);
  }

  #arm(): void {
    const next = this.#delayed.peek();
    if (!next || next.readyAt >= this.#timerAt) return;
    this.#cancelTimer?.();
    this.#timerAt = next.readyAt;
    // A timer fires early if its delay is longer than the clock's longest; then it is set again.
    const ms = Math.max(0, Math.ceil(this.#timerAt - this.#clock.monotonic()));
    this.#cancelTimer = this.#clock.setTimeout(() => this.#ripen(), ms);
  }

  #ripen(): void {
    this.#timerAt = Infinity;
    const now = this.#clock.monotonic();
    for (let entry = this.#delayed.peek(); entry && entry.readyAt <= now; entry = this.#delayed.peek()) {
      this.#delayed.pop();
      if (this.#alive(entry)) this.#pushReady(entry);
    }
    this.#arm();
    this.#dispatch();
  }
}
