import { LinkedAbort } from './linked-abort.ts';

test('a linked signal aborts with the outer one, for the same reason', () => {
  const outer = new AbortController();
  const { signal } = new LinkedAbort(outer.signal);
  expect(signal.aborted).toBe(false);
  const reason = new Error('the client disconnected');
  outer.abort(reason);
  expect(signal.reason).toBe(reason);
});

test('a link to a signal that has already aborted is aborted at once', () => {
  const linked = new LinkedAbort(AbortSignal.abort('gone'));
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'gone']);
});

test('aborting a link leaves the outer signal alone', () => {
  const outer = new AbortController();
  const linked = new LinkedAbort(outer.signal);
  linked.abort('late');
  expect([linked.signal.reason, outer.signal.aborted]).toEqual(['late', false]);
});

test('a released link no longer follows the outer signal', () => {
  const outer = new AbortController();
  const linked = new LinkedAbort(outer.signal);
  linked.release();
  outer.abort();
  expect(linked.signal.aborted).toBe(false);
});
