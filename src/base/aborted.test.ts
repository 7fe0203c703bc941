import { getEventListeners } from 'node:events';
import { aborted, unlessAborted } from './aborted.ts';

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

test('a caller gets the result of work, or the reason of its signal if that aborts first', async () => {
  const { signal } = new AbortController();
  await expect(unlessAborted(signal, Promise.resolve(1))).resolves.toBe(1);
  await expect(unlessAborted(signal, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const stop = new AbortController();
  const waiting = unlessAborted(stop.signal, new Promise(() => {}));
  stop.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  // Work that fails later does not end the process with an unhandled rejection.
  await expect(unlessAborted(stop.signal, Promise.reject(new Error('late')))).rejects.toThrow('gone');
});
