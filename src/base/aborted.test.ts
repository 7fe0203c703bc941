import { aborted } from './aborted.ts';

test('the wait ends when the signal aborts, immediately if it has already aborted', async () => {
  const stop = new AbortController();
  let ended = false;
  const waiting = aborted(stop.signal).then(() => (ended = true));
  await Promise.resolve();
  expect(ended).toBe(false);
  stop.abort();
  await waiting;
  expect(ended).toBe(true);
  await expect(aborted(stop.signal)).resolves.toBeUndefined();
});
