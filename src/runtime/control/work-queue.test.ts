import fc from 'fast-check';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';
import { lowPriority, WorkQueue } from './work-queue.ts';

let clock: FakeClock;
let queue: WorkQueue;
beforeEach(() => {
  clock = new FakeClock();
  queue = new WorkQueue('test', clock);
});

/** Starts a worker that never takes long. Returns the keys that it has processed, a list that grows. */
function work(): string[] {
  const keys: string[] = [];
  void (async () => {
    for (let item = await queue.take(); item; item = await queue.take()) {
      keys.push(item.key);
      queue.done(item.key);
    }
  })();
  return keys;
}

test('a key that is added many times is handed out once', async () => {
  for (let i = 0; i < 1000; i++) queue.add('a');
  expect((await queue.take())?.key).toBe('a');
  expect(queue.size).toBe(0);
});

test('an add of a delayed key that is due makes it ready, even if the timer is late', async () => {
  const late = new ShiftedClock();
  queue = new WorkQueue('test', late);
  queue.add('a', { afterMs: 60_000 });
  late.shift(60_000);
  queue.add('a');
  expect((await queue.take())?.key).toBe('a');
  queue.stop();
});

test('a thousand adds of a key while it is worked on lead to exactly one more run', async () => {
  queue.add('a');
  const first = await queue.take();
  for (let i = 0; i < 1000; i++) queue.add('a');
  let second: unknown = 'not yet';
  void queue.take().then((item) => (second = item));
  await clock.advance(1_000);
  expect(second).toBe('not yet');
  queue.done(first!.key);
  await clock.advance(0);
  expect(second).toMatchObject({ key: 'a' });
  queue.done('a');
  expect(queue.size + queue.active).toBe(0);
});

test('keys come in the order they were added', async () => {
  for (const key of ['c', 'a', 'b']) queue.add(key);
  const done = work();
  await clock.advance(0);
  expect(done).toEqual(['c', 'a', 'b']);
});

test('a key of normal priority overtakes keys of low priority', async () => {
  queue.add('old-1', { priority: lowPriority });
  queue.add('old-2', { priority: lowPriority });
  queue.add('edited');
  const done = work();
  await clock.advance(0);
  expect(done).toEqual(['edited', 'old-1', 'old-2']);
});

test('a key that is added again gets the higher priority and the earlier time', async () => {
  queue.add('a', { priority: lowPriority });
  queue.add('b', { priority: lowPriority });
  queue.add('b');
  const done = work();
  await clock.advance(0);
  expect(done).toEqual(['b', 'a']);
  queue.add('late', { afterMs: 60_000 });
  queue.add('late', { afterMs: 10 });
  queue.add('late', { afterMs: 30_000 });
  await clock.advance(10);
  expect(done).toEqual(['b', 'a', 'late']);
  await clock.advance(120_000);
  expect(done).toHaveLength(3);
});

test('a delayed key wakes the worker that waits for it', async () => {
  let got: unknown;
  void queue.take().then((item) => (got = item));
  queue.add('a', { afterMs: 5_000 });
  await clock.advance(4_999);
  expect(got).toBeUndefined();
  await clock.advance(1);
  expect(got).toMatchObject({ key: 'a' });
});

test('a delayed key wakes at its time, although an event moved another delayed key forward', async () => {
  const hourMs = 3_600_000;
  for (const key of ['a', 'b', 'c']) queue.add(key, { afterMs: hourMs });
  queue.add('b');
  await queue.take();
  queue.add('b', { afterMs: hourMs });
  queue.done('b');
  const done = work();
  queue.add('soon', { afterMs: 1_000 });
  await clock.advance(1_000);
  expect(done).toEqual(['soon']);
});

test('an event of a ready key of low priority brings it to the front of several', async () => {
  for (const key of ['a', 'b', 'c']) queue.add(key, { priority: lowPriority });
  queue.add('b');
  const done = work();
  await clock.advance(0);
  expect(done).toEqual(['b', 'a', 'c']);
});

interface Add {
  key: string;
  afterMs: number;
  priority: number;
}

/** What the guarantees of the queue say about one worker, whose work ends when the test says so. */
class Model {
  readonly log: string[] = [];
  readonly #waiting = new Map<
    string,
    { key: string; priority: number; order: number; readyAt: number; since: number }
  >();
  #running: string | undefined;
  #orders = 0;
  #now = 0;

  add({ key, afterMs, priority }: Add): void {
    const known = this.#waiting.get(key);
    if (known && known.priority >= priority && known.readyAt <= this.#now + afterMs) return;
    const readyAt = Math.min(known?.readyAt ?? Infinity, this.#now + afterMs);
    this.#waiting.set(key, {
      key,
      priority: Math.max(known?.priority ?? -Infinity, priority),
      order: known?.order ?? this.#orders++,
      readyAt,
      since: Math.max(readyAt, this.#now),
    });
    this.#hand();
  }

  done(): void {
    const again = this.#waiting.get(this.#running ?? '');
    if (again) again.since = Math.max(again.since, this.#now);
    this.#running = undefined;
    this.#hand();
  }

  pass(ms: number): void {
    const end = this.#now + ms;
    const times = [...this.#waiting.values()].map(({ readyAt }) => readyAt).filter((at) => at > this.#now && at <= end);
    for (const at of [...times.toSorted((a, b) => a - b), end]) {
      this.#now = at;
      this.#hand();
    }
  }

  #hand(): void {
    const ready = [...this.#waiting.values()].filter(({ readyAt }) => readyAt <= this.#now);
    if (this.#running !== undefined || ready.length === 0) return;
    const patient = ready.filter(({ priority }) => priority < 0).toSorted((a, b) => a.since - b.since)[0];
    const turn = this.log.length % 4 === 3 && patient && this.#now - patient.since > 10_000;
    const { key } = turn ? patient : ready.toSorted((a, b) => b.priority - a.priority || a.order - b.order)[0]!;
    this.#running = key;
    this.#waiting.delete(key);
    this.log.push(`${key} at ${this.#now}`);
  }
}

test('every key is handed out at its time and in its order, whatever else is added, delayed and moved forward', async () => {
  // Whole seconds, and a millisecond between two steps: no two keys become ready at the same time.
  const seconds = fc.constantFrom(0, 0, 1_000, 5_000, 60_000, 600_000);
  const add = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    afterMs: seconds,
    priority: fc.constantFrom(lowPriority, 0, 0, 1),
  });
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ add }) },
    { weight: 2, arbitrary: fc.constant({ done: true as const }) },
    { weight: 1, arbitrary: fc.record({ passMs: seconds }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      clock = new FakeClock();
      queue = new WorkQueue('test', clock);
      const model = new Model();
      const log: string[] = [];
      let finish = (): void => {};
      void (async () => {
        for (let item = await queue.take(); item; item = await queue.take()) {
          log.push(`${item.key} at ${clock.monotonic()}`);
          await new Promise<void>((resolve) => (finish = resolve));
          queue.done(item.key);
        }
      })();
      const pass = async (ms: number): Promise<void> => {
        model.pass(ms);
        await clock.advance(ms);
      };
      const done = async (): Promise<void> => {
        model.done();
        finish();
        await pass(1);
      };
      for (const one of steps) {
        if ('add' in one) {
          model.add(one.add);
          queue.add(one.add.key, one.add);
          await pass(1);
        } else if ('done' in one) await done();
        else await pass(one.passMs + 1);
      }
      await pass(600_000);
      for (let i = 0; i < 9; i++) await done();
      expect(log).toEqual(model.log);
      expect(queue.size + queue.active).toBe(0);
      queue.stop();
    }),
    { numRuns: 100 },
  );
});

test('a delay that is requested during work counts from the request', async () => {
  queue.add('a');
  await queue.take();
  queue.add('a', { afterMs: 1_000 });
  await clock.advance(5_000);
  queue.done('a');
  const done = work();
  await clock.advance(0);
  expect(done).toEqual(['a']);
});

test('failures back off per key, doubling to five minutes, and are forgotten on success', () => {
  const delays = Array.from({ length: 20 }, () => queue.limiter.next('a'));
  expect(delays.slice(0, 4)).toEqual([5, 10, 20, 40]);
  expect(delays.at(-1)).toBe(300_000);
  expect(queue.limiter.next('b')).toBe(5);
  queue.limiter.forget('a');
  expect(queue.limiter.next('a')).toBe(5);
});

test('a thousand keys that fail together are retried at ten per second after the first hundred', () => {
  const delays = Array.from({ length: 1000 }, (_, i) => queue.limiter.next(`k${i}`));
  expect(delays.slice(0, 100).every((d) => d === 5)).toBe(true);
  expect(delays[999]).toBeCloseTo(90_000, -2);
});

/** Its longest delay is that of the system's clock. */
class ShortClock extends FakeClock {
  override setTimeout(fn: () => void, ms: number): () => void {
    return super.setTimeout(fn, Math.min(ms, 2 ** 31 - 1));
  }
}

test('a delay beyond the longest of the clock comes at its time', async () => {
  clock = new ShortClock();
  queue = new WorkQueue('test', clock);
  const done = work();
  queue.add('a', { afterMs: 60 * 86_400_000 });
  await clock.advance(2 ** 31);
  expect(done).toEqual([]);
  await clock.advance(60 * 86_400_000);
  expect(done).toEqual(['a']);
});

test('a delay that is not a number delays no other key, and leaves a failed key its back-off', async () => {
  const done = work();
  queue.add('b', { afterMs: 1_000 });
  queue.add('a', { afterMs: NaN });
  await clock.advance(0);
  expect(done).toEqual(['a']);
  expect(queue.retry('a', { atLeastMs: NaN })).toBe(5);
  await clock.advance(1_000);
  expect(done).toEqual(['a', 'a', 'b']);
  expect(clock.pending).toBe(0);
});

test('after a stop no key is handed out or added', async () => {
  queue.add('a');
  const waiting = [queue.take(), queue.take()];
  queue.stop();
  queue.add('b');
  expect((await Promise.all(waiting)).map((i) => i?.key)).toEqual(['a', undefined]);
  expect(await queue.take()).toBeUndefined();
});

test('nothing is left in the queue after many delayed adds', async () => {
  const done = work();
  for (let round = 0; round < 50; round++) {
    for (let i = 0; i < 200; i++) queue.add(`k${i}`, { afterMs: (round * i) % 97 });
    await clock.advance(100);
  }
  expect(done.length).toBeGreaterThan(1_000);
  expect(queue.size + queue.active).toBe(0);
  expect(clock.pending).toBeLessThanOrEqual(1);
});

test('a key that runs again and again waits for all others each time', async () => {
  for (const key of ['hot', 'a', 'b']) queue.add(key);
  const order: string[] = [];
  for (let i = 0; i < 6; i++) {
    const item = (await queue.take())!;
    order.push(item.key);
    queue.add(item.key);
    queue.done(item.key);
  }
  expect(order).toEqual(['hot', 'a', 'b', 'hot', 'a', 'b']);
});

test('low-priority keys get every fourth turn after ten seconds of waiting, however many new keys come', async () => {
  for (let i = 0; i < 4; i++) queue.add(`old-${i}`, { priority: lowPriority });
  const turns = async (count: number): Promise<string[]> => {
    const order: string[] = [];
    for (let i = 0; i < count; i++) {
      queue.add(`news-${i}`);
      const item = (await queue.take())!;
      order.push(item.key.split('-')[0]!);
      queue.done(item.key);
    }
    return order;
  };
  const news = (count: number): string[] => Array.from({ length: count }, () => 'news');
  expect(await turns(8)).toEqual(news(8));
  await clock.advance(9_999);
  expect(await turns(8)).toEqual(news(8));
  await clock.advance(2);
  const order = await turns(16);
  const first = order.indexOf('old');
  expect(first).toBeLessThan(4);
  expect(order.flatMap((kind, i) => (kind === 'old' ? [i - first] : []))).toEqual([0, 4, 8, 12]);
});

test('a key carries the reason of its first add', async () => {
  queue.add('a', { reason: 'Pod updated' });
  queue.add('a', { reason: 'Pod deleted' });
  const item = await queue.take();
  expect(item).toMatchObject({ key: 'a', reason: 'Pod updated' });
  queue.retry('a');
  queue.done('a');
  await clock.advance(10);
  expect(await queue.take()).toMatchObject({ reason: 'retry', attempt: 1 });
});
