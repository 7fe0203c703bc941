import { FakeClock } from '../testing/fake-clock.ts';
import { TimeLimit, within } from './time-limit.ts';

test('a limit aborts with a TimeoutError when its time on the clock has passed, and not before', async () => {
  const clock = new FakeClock();
  const limit = new TimeLimit(clock, 1_000);
  await clock.advance(999);
  expect([limit.signal.aborted, limit.passed]).toEqual([false, false]);
  await clock.advance(1);
  expect(limit.passed).toBe(true);
  expect(limit.signal.reason).toMatchObject({ name: 'TimeoutError', message: 'not done within 1000 ms' });
});

test('a limit aborts with the reason of the outer signal when that aborts first', () => {
  const outer = new AbortController();
  const limit = new TimeLimit(new FakeClock(), 1_000, outer.signal);
  outer.abort('the caller left');
  expect([limit.signal.reason, limit.passed]).toEqual(['the caller left', false]);
});

test('work that settles leaves neither a timer nor a listener behind', async () => {
  const clock = new FakeClock();
  const outer = new AbortController();
  let inner: AbortSignal | undefined;
  const done = within(
    clock,
    1_000,
    (signal) => {
      inner = signal;
      return Promise.resolve('answer');
    },
    outer.signal,
  );
  expect(await done).toBe('answer');
  expect(clock.pending).toBe(0);
  outer.abort();
  expect(inner?.aborted).toBe(false);
});

test('work that throws at once leaves no timer behind', async () => {
  const clock = new FakeClock();
  const failing = within(clock, 1_000, () => {
    throw new Error('refused');
  });
  await expect(failing).rejects.toThrow('refused');
  expect(clock.pending).toBe(0);
});
