import { LinkedAbort } from './linked-abort.ts';

test('it ends with the outer signal, for the same reason', () => {
  const outer = new AbortController();
  const { signal } = new LinkedAbort(outer.signal);
  expect(signal.aborted).toBe(false);
  const reason = new Error('the asker went away');
  outer.abort(reason);
  expect(signal.reason).toBe(reason);
});

test('what begins when the outer signal has ended already is over at once', () => {
  const linked = new LinkedAbort(AbortSignal.abort('gone'));
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'gone']);
});

test('ended by itself it leaves the outer signal alone', () => {
  const outer = new AbortController();
  const linked = new LinkedAbort(outer.signal);
  linked.abort('late');
  expect([linked.signal.reason, outer.signal.aborted]).toEqual(['late', false]);
});

test('once released it hears of the outer signal no more', () => {
  const outer = new AbortController();
  const linked = new LinkedAbort(outer.signal);
  linked.release();
  outer.abort();
  expect(linked.signal.aborted).toBe(false);
});
