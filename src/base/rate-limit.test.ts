import { FakeClock } from '../testing/fake-clock.ts';
import { RateLimiter } from './rate-limit.ts';

test('grants the limit at once, then one call an interval, separately for each caller', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(30, clock);
  for (let i = 0; i < 30; i++) expect(limiter.take('a')).toBeNull();
  expect(limiter.take('a')).toBe(2);
  expect(limiter.take('b')).toBeNull();
  await clock.advance(1_999);
  expect(limiter.take('a')).toBe(1);
  await clock.advance(1);
  expect(limiter.take('a')).toBeNull();
  expect(limiter.take('a')).toBe(2);
  await clock.advance(3_600_000);
  for (let i = 0; i < 30; i++) expect(limiter.take('a')).toBeNull();
  expect(limiter.take('a')).not.toBeNull();
});

test('a refused call does not delay the next token of its caller', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(60, clock);
  while (limiter.take('a') === null);
  for (let i = 0; i < 9; i++) {
    await clock.advance(100);
    expect(limiter.take('a')).toBe(1);
  }
  await clock.advance(100);
  expect(limiter.take('a')).toBeNull();
});

test('remembers at most ten thousand callers, and forgets idle ones first', () => {
  const limiter = new RateLimiter(1, new FakeClock());
  expect(limiter.take('busy')).toBeNull();
  let granted = 0;
  let most = 0;
  for (let i = 0; i < 25_000; i++) {
    limiter.take(`caller-${i}`);
    if (limiter.take('busy') === null) granted++;
    most = Math.max(most, limiter.size);
  }
  expect([granted, most]).toEqual([0, 10_000]);
  expect(limiter.take('caller-24999')).not.toBeNull();
  // A forgotten caller has the whole limit again.
  expect(limiter.take('caller-0')).toBeNull();
});
