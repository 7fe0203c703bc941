import { FakeClock } from '../../testing/fake-clock.ts';
import { RetryLimiter } from './rate-limiter.ts';

const backOffMs = 5;
const longestMs = 300_000;

let clock: FakeClock;
let limiter: RetryLimiter;
beforeEach(() => {
  clock = new FakeClock();
  let drawn = 0;
  // Evenly spread over [0, 1).
  const random = (): number => (drawn = (drawn + 0.618_034) % 1);
  limiter = new RetryLimiter(() => clock.monotonic(), { random });
});
const fail = (keys: number): number[] => Array.from({ length: keys }, (_, i) => limiter.next(`k${i}`));

test('a key that fails again and again before its retry is due does not delay others', () => {
  for (let i = 0; i < 5_000; i++) limiter.next('noisy');
  expect(limiter.next('other')).toBe(backOffMs);
});

test('no key waits longer than five minutes, however many fail together', async () => {
  const delays = fail(10_000);
  const longest = Math.max(...delays);
  expect(longest).toBeLessThanOrEqual(longestMs);
  expect(longest).toBeGreaterThan(0.99 * longestMs);
  await clock.advance(longestMs);
  expect(limiter.next('after')).toBeLessThanOrEqual(200);
});

test('ten thousand keys that fail for a quarter of an hour are never retried together', async () => {
  const dueAt = fail(10_000);
  for (let second = 0; second < 900; second++) {
    await clock.advance(1_000);
    const now = clock.monotonic();
    const due = [...dueAt.keys()].filter((i) => dueAt[i]! <= now);
    for (const i of due) dueAt[i] = now + limiter.next(`k${i}`);
    // The first second has the burst too.
    expect(due.length).toBeLessThanOrEqual(second === 0 ? 110 : 100);
  }
});

test('a key that has no token gives none back', () => {
  fail(10_000);
  for (let i = 3_200; i < 10_000; i++) limiter.forget(`k${i}`);
  expect(limiter.next('k9000')).toBeGreaterThan(longestMs / 2);
  for (let i = 0; i < 3_000; i++) limiter.forget(`k${i}`);
  expect(limiter.next('k0')).toBeLessThan(longestMs / 2);
});

test('keys that fail again while they wait keep their turns', () => {
  fail(1_000);
  const again = fail(1_000);
  expect(again[0]).toBe(2 * backOffMs);
  expect(again[999]).toBeCloseTo(90_000, -2);
});

test('each retry that fails takes a further turn', async () => {
  fail(1_100);
  await clock.advance(110_000);
  const again = fail(1_100);
  expect(again[99]).toBe(2 * backOffMs);
  expect(again[1_099]).toBeCloseTo(100_000, -2);
});

test('a key that succeeds before its retry is due gives its turn back', () => {
  for (let i = 0; i < 5_000; i++) {
    limiter.next('flapping');
    limiter.forget('flapping');
  }
  expect(limiter.next('other')).toBe(backOffMs);
});
