import { FakeClock } from '../../testing/fake-clock.ts';
import { RetryLimiter } from './rate-limiter.ts';

const backOffMs = 5;
const longestMs = 300_000;

let clock: FakeClock;
let limiter: RetryLimiter;
beforeEach(() => {
  clock = new FakeClock();
  limiter = new RetryLimiter(() => clock.monotonic());
});
const fail = (keys: number): number[] => Array.from({ length: keys }, (_, i) => limiter.next(`k${i}`));

test('a key that fails again and again before its retry is due does not delay others', () => {
  for (let i = 0; i < 5_000; i++) limiter.next('noisy');
  expect(limiter.next('other')).toBe(backOffMs);
});

test('no key waits longer than five minutes, however many fail together', async () => {
  const delays = fail(10_000);
  expect(Math.max(...delays)).toBe(longestMs);
  await clock.advance(longestMs);
  expect(limiter.next('after')).toBeLessThanOrEqual(200);
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
