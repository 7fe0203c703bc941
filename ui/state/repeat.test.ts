import { repeat } from './repeat.ts';

/** A page whose timers fire, and whose user comes and goes, when the test says so. */
class Page {
  readonly #intervals = new Map<object, { readonly fn: () => void; readonly ms: number }>();
  readonly #listeners = new Set<() => void>();
  hidden = false;
  readonly visibility = {
    isHidden: () => this.hidden,
    onReturn: (listener: () => void) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };
  readonly setInterval = (fn: () => void, ms: number): object => {
    const timer = {};
    this.#intervals.set(timer, { fn, ms });
    return timer;
  };
  readonly clearInterval = (timer: object): void => void this.#intervals.delete(timer);

  /** The intervals that run. Units: ms. */
  get waits(): number[] {
    return Array.from(this.#intervals.values(), ({ ms }) => ms);
  }

  tick(): void {
    for (const { fn } of this.#intervals.values()) fn();
  }

  userReturns(): void {
    for (const listener of this.#listeners) listener();
  }
}

const { setInterval, clearInterval } = globalThis;
let page: Page;
let calls: number;
const again = (): void => void calls++;
beforeEach(() => {
  calls = 0;
  page = new Page();
  Object.assign(globalThis, { setInterval: page.setInterval, clearInterval: page.clearInterval });
});
afterEach(() => Object.assign(globalThis, { setInterval, clearInterval }));

test('a request is repeated at its interval while the page is visible, until it ends', () => {
  const end = repeat(15_000, 'network', again, page.visibility);
  expect(page.waits).toEqual([15_000]);
  page.tick();
  page.hidden = true;
  page.tick();
  page.userReturns();
  expect(calls).toBe(1);
  end();
  expect(page.waits).toEqual([]);
});

test('a request that was unauthorized is repeated once a minute, and when the user returns', () => {
  const end = repeat(15_000, 'unauthorized', again, page.visibility);
  expect(page.waits).toEqual([60_000]);
  page.tick();
  page.userReturns();
  expect(calls).toBe(2);
  end();
  page.userReturns();
  expect([calls, page.waits]).toEqual([2, []]);
});

test('a request without an interval is not repeated', () => {
  for (const failure of [undefined, 'network', 'unauthorized'] as const) repeat(0, failure, again, page.visibility);
  page.userReturns();
  expect([calls, page.waits]).toEqual([0, []]);
});
