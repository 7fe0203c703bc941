import { allOrNone } from './all-or-none.ts';

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

test('all results come in the order of the work', async () => {
  const { signal } = new AbortController();
  expect(await allOrNone(signal, [async () => 1, async () => 2])).toEqual([1, 2]);
  expect(await allOrNone(signal, [])).toEqual([]);
});

test('when one piece fails the others are aborted with its error, and have ended before it is told', async () => {
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

test.each([1, 2])('the outer signal ends the work: %s pieces', async (pieces) => {
  const outer = new AbortController();
  const waiting = allOrNone(
    outer.signal,
    Array.from({ length: pieces }, () => untilAborted),
  );
  outer.abort(new Error('over'));
  await expect(waiting).rejects.toThrow('over');
});
