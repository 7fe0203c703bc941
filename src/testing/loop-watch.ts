import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How long the event loop of a process was blocked since the last report. Units: milliseconds, bytes. */
export interface LoopReport {
  /**
   * Longest processor time of the main thread between two looks at the event loop. It does not grow when other
   * processes take the core, so a test may assert it on a busy machine.
   */
  readonly longestCpuMs: number;
  /** Longest delay of a timer, and the 99.9th percentile, in wall-clock time. */
  readonly longestMs: number;
  readonly p999Ms: number;
  /**
   * A slice is the time between two looks at the event loop. `slices[n]` is the number of slices in which the main
   * thread used `n` whole ms of processor time; most used 0.
   */
  readonly slices: readonly number[];
  /** Largest resident memory. */
  readonly residentBytes: number;
  /** By path, the longest processor time of the main thread from a request's head to the end of its answer. */
  readonly answersMs: Readonly<Record<string, number>>;
}

/**
 * The share of the processor time that was used in slices of at least `ms`; 0 when none was used. Idle slices have no
 * weight: on a busy machine there are fewer, so a percentile of all slices would depend on the machine's load.
 */
export function shareOfLongSlices(all: readonly (readonly number[])[], ms: number): number {
  let [used, long] = [0, 0];
  for (const slices of all) {
    for (const [length, count] of slices.entries()) {
      used += length * (count ?? 0);
      if (length >= ms) long += length * (count ?? 0);
    }
  }
  return used === 0 ? 0 : long / used;
}

/** The message of the diagnostics channel `http.server.request.start`. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Time between two looks at the event loop. Units: ms. */
const everyMs = 2;
/** After this many looks in a row, each with less than a millisecond of processor time, the work has ended. */
const quietLooks = 20;

/** Watches the event loop of its own process. */
export class LoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: everyMs });
  #cpuUs = cpuUs();
  #longestUs = 0;
  #resident = 0;
  #looks = 0;
  #slices: number[] = [];
  #quiet = 0;
  /** The CPU time at the moment when a client last went away, or when the time of a request was up. */
  #closedUs: number | null = null;
  /** How long the next request may compute: the argument of `afterTime`. Null once that request has arrived. */
  #allowedMs: number | null = null;
  #isTimed = false;
  /** The CPU time when the main thread was last busy. */
  #busyUs = 0;
  #onQuiet: ((ms: number) => void) | null = null;
  #answersUs: Record<string, number> = {};
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#delay.enable();
    subscribe('http.server.request.start', (message) => this.#follow(message as Exchange));
    this.#look();
  }

  /** Reports the measurements since the last report, and starts new ones. */
  report(): LoopReport {
    this.#measure();
    const report = {
      longestCpuMs: this.#longestUs / 1000,
      longestMs: this.#delay.max / 1e6,
      p999Ms: this.#delay.percentile(99.9) / 1e6,
      slices: Array.from(this.#slices, (count) => count ?? 0),
      residentBytes: Math.max(this.#resident, process.memoryUsage.rss()),
      answersMs: Object.fromEntries(Object.entries(this.#answersUs).map(([path, us]) => [path, us / 1000])),
    };
    this.#delay.reset();
    this.#slices = [];
    this.#answersUs = {};
    this.#longestUs = this.#resident = 0;
    this.#cpuUs = cpuUs();
    return report;
  }

  /**
   * Processor time that the main thread used from the moment a client abandoned its request until the thread was idle.
   * Units: ms. Resolves when the thread is idle. A request abandoned before the call counts, too.
   */
  afterClose(): Promise<number> {
    return new Promise((resolve) => (this.#onQuiet = resolve));
  }

  /** Like `afterClose`, but counts from `allowedMs` after the next request arrives, no matter when its answer ends. */
  afterTime(allowedMs: number): Promise<number> {
    this.#allowedMs = allowedMs;
    this.#isTimed = true;
    return new Promise((resolve) => (this.#onQuiet = resolve));
  }

  stop(): void {
    this.#delay.disable();
    clearTimeout(this.#timer);
  }

  #follow({ request, response }: Exchange): void {
    const started = cpuUs();
    const path = (request.url ?? '').split('?', 1)[0]!;
    if (this.#allowedMs !== null) setTimeout(() => this.#markEnd(), this.#allowedMs).unref();
    this.#allowedMs = null;
    response.once('finish', () => {
      this.#answersUs[path] = Math.max(this.#answersUs[path] ?? 0, cpuUs() - started);
    });
    response.once('close', () => {
      if (!response.writableFinished && !this.#isTimed) this.#markEnd();
    });
  }

  #markEnd(): void {
    this.#closedUs = this.#busyUs = cpuUs();
    this.#quiet = 0;
  }

  readonly #look = (): void => {
    this.#measure();
    this.#timer = setTimeout(this.#look, everyMs).unref();
  };

  #measure(): void {
    const now = cpuUs();
    const slice = now - this.#cpuUs;
    this.#longestUs = Math.max(this.#longestUs, slice);
    this.#cpuUs = now;
    if (++this.#looks % 16 === 0) this.#resident = Math.max(this.#resident, process.memoryUsage.rss());
    const ms = Math.floor(slice / 1000);
    this.#slices[ms] = (this.#slices[ms] ?? 0) + 1;
    if (ms > 0) {
      this.#busyUs = now;
      this.#quiet = 0;
    } else this.#quiet++;
    if (this.#onQuiet === null || this.#closedUs === null || this.#quiet < quietLooks) return;
    this.#onQuiet((this.#busyUs - this.#closedUs) / 1000);
    this.#onQuiet = this.#closedUs = null;
    this.#isTimed = false;
  }
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
