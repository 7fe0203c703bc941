import { allOrNone } from './all-or-none.ts';

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

test('the results come in the order of the tasks', async () => {
  const { signal } = new AbortController();
  expect(await allOrNone(signal, [async () => 1, async () => 2])).toEqual([1, 2]);
  expect(await allOrNone(signal, [])).toEqual([]);
});

test('when one task fails, the others are aborted and have ended before its error is thrown', async () => {
  let ended = false;
  const slow = async (signal: AbortSignal): Promise<never> => {
    try {
      return await untilAborted(signal);
    } finally {
      await Promise.resolve();
      ended = true;
    }
  };
  const failing = allOrNone(new AbortController().signal, [slow, () => Promise.reject(new Error('first'))]);
  await expect(failing).rejects.toThrow('first');
  expect(ended).toBe(true);
});

test.each([1, 2])('when the caller’s signal aborts, the tasks are aborted (number of tasks: %i)', async (pieces) => {
  const outer = new AbortController();
  const waiting = allOrNone(
    outer.signal,
    Array.from({ length: pieces }, () => untilAborted),
  );
  outer.abort(new Error('over'));
  await expect(waiting).rejects.toThrow('over');
});
