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

/** Treats a delay beyond 31 bits as 1 ms, as Node's timers do. */
class NodesClock extends FakeClock {
  override setTimeout(fn: () => void, ms: number): () => void {
    return super.setTimeout(fn, ms > 2 ** 31 - 1 ? 1 : ms);
  }
}

test('a delay beyond the limit of Node’s timers does not fire immediately', async () => {
  clock = new NodesClock();
  queue = new WorkQueue('test', clock);
  const done = work();
  queue.add('a', { afterMs: 60 * 86_400_000 });
  await clock.advance(2 ** 31);
  expect(done).toEqual([]);
  await clock.advance(60 * 86_400_000);
  expect(done).toEqual(['a']);
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
