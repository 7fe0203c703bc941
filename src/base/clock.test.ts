import { systemClock } from './clock.ts';

test('a timer for longer than the machine can count does not fire at once', async () => {
  let fired = 0;
  const cancels = [2 ** 31, 1e15, Infinity].map((ms) => systemClock.setTimeout(() => fired++, ms));
  // Node's own timers fire after 1 ms when their delay does not fit into 31 bits.
  await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 5));
  expect(fired).toBe(0);
  for (const cancel of cancels) cancel();
});
