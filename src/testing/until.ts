import { types } from 'node:util';

/** What counts as a good answer by default: anything but undefined, null, false, 0 and an empty string. */
export type Something<T> = Exclude<T, undefined | null | false | 0 | ''>;

/** How long to wait for an answer, and what ends the wait earlier. */
export interface Waiting {
  /**
   * The limit in real time. It is long, because a busy machine is slow and a broken test is rare. Default 55 s, so that
   * a unit test says what it waited for before Jest ends it. `SVC_TEST_PATIENCE` stretches this default, and the limits
   * of Jest. Units: ms.
   */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** See `Waiting`. */
const defaultTimeoutMs = 55_000 * readPatience(process.env);
/** The longest pause between two calls of `ask`. Units: ms. */
const longestPauseMs = 200;
/** For this long, a synchronous `ask` is called in every turn, and the event loop waits for no event. Units: ms. */
const eagerMs = 10;

/**
 * Calls `ask` until its answer is good, and returns that answer. For effects in another process or across a socket,
 * because a fake clock cannot tell when they are there. `good`: by default any answer that is `Something`.
 * Flow: a synchronous `ask` looks into this process, where a state may last for only one turn of the event loop. It is
 * called in every turn, and once a millisecond while nothing happens. An asynchronous `ask` is called again after a
 * pause: a tenth of the time waited so far, at least the duration of the last call, at most 200 ms. So an `ask` that
 * starts a short program keeps a core busy for at most half of the time. An error of `ask` counts as an answer that is
 * not good.
 * Errors: after `timeoutMs`, with `what` and the last answer or error; when `signal` aborts, its reason.
 */
export function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  options?: Waiting & { good?: undefined },
): Promise<Something<T>>;
export function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  options: Waiting & { good: (answer: T) => boolean },
): Promise<T>;
export async function until(
  what: string,
  ask: () => unknown,
  {
    good = Boolean,
    timeoutMs = defaultTimeoutMs,
    signal,
  }: Waiting & { good?: ((answer: never) => boolean) | undefined } = {},
): Promise<unknown> {
  const started = performance.now();
  let waits = false;
  for (;;) {
    signal?.throwIfAborted();
    let last: unknown;
    let isAnsweredAtOnce = false;
    let cause: unknown;
    const askedAt = performance.now();
    try {
      const asked = ask();
      isAnsweredAtOnce = !types.isPromise(asked);
      const answer = (await asked) as never;
      if (good(answer)) return answer;
      last = answer;
    } catch (error) {
      cause = error;
    }
    const now = performance.now();
    const waitedMs = now - started;
    if (waitedMs > timeoutMs)
      throw new Error(`${what}: not so after ${timeoutMs} ms; last: ${describe(last, cause)}`, { cause });
    const pauseMs = isAnsweredAtOnce ? 0 : Math.min(longestPauseMs, Math.floor(Math.max(waitedMs / 10, now - askedAt)));
    // A turn that waits is followed by one that does not, so the effect of a timer is checked before the next event.
    waits = !waits && isAnsweredAtOnce && waitedMs > eagerMs;
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    else if (waits) await eventfulTurn();
    else await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resolves after the next turn of the event loop in which something happens; after a millisecond at the latest. */
function eventfulTurn(): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      clearImmediate(turn);
      resolve();
    };
    const timer = setTimeout(done, 1);
    // An unreferenced immediate does not wake the event loop: it runs after the awaited event.
    const turn = setImmediate(done).unref();
  });
}

/** The last answer or error as text, only for the message: an answer may be large, and most are never shown. */
function describe(answer: unknown, cause: unknown): string {
  if (cause instanceof Error) return cause.message;
  if (cause !== undefined) return String(cause);
  return JSON.stringify(answer)?.slice(0, 600) ?? 'undefined';
}

/**
 * The factor for the time limits of waits: `SVC_TEST_PATIENCE`, a number of at least 1. Default 1, for an idle machine.
 * `make test` sets it, because there a test shares two cores with many others. The factor stretches the limits of
 * waits, never what a test measures.
 * Errors: any other value of the variable.
 */
export function readPatience(env: Readonly<Record<string, string | undefined>>): number {
  const text = env['SVC_TEST_PATIENCE'] ?? '1';
  const patience = Number(text);
  if (!Number.isFinite(patience) || patience < 1) {
    throw new Error(`SVC_TEST_PATIENCE: must be a number of at least 1, not "${text}"`);
  }
  return patience;
}
