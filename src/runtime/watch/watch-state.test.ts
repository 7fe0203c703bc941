import type { KubeObject } from '../../api/meta.ts';
import { initialWatchState, stepWatch, type WatchEffect, type WatchInput, type WatchState } from './watch-state.ts';

const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
const watched = { ...kind, keep: (whole: KubeObject): KubeObject => whole };
const object = (name: string, resourceVersion: string): KubeObject => ({
  ...kind,
  metadata: { name, resourceVersion },
});
const frame = (type: string, value: unknown): WatchInput => ({ type: 'frame', frame: { type, object: value } });
const bookmark = (resourceVersion: string, end = false): WatchInput =>
  frame('BOOKMARK', {
    ...kind,
    metadata: { resourceVersion, ...(end ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}) },
  });
const failed = (over: Partial<Extract<WatchInput, { type: 'failed' }>> = {}): WatchInput => ({
  type: 'failed',
  kind: 'other',
  retryAfterMs: 0,
  now: 0,
  ...over,
});

/** Steps through the inputs from the initial state. Returns the last state, and the effects of the last input. */
function run(
  inputs: WatchInput[],
  streamingList = false,
  selective = false,
): { state: WatchState; effects: readonly WatchEffect[] } {
  let state = initialWatchState({ streamingList, selective, pageSize: 500 });
  let effects: readonly WatchEffect[] = [];
  for (const input of inputs) ({ state, effects } = stepWatch(state, input, watched));
  return { state, effects };
}
const proceed: WatchInput = { type: 'proceed' };
const page = (items: KubeObject[], resourceVersion: string, next?: string): WatchInput => ({
  type: 'page',
  items,
  resourceVersion,
  next,
});
const listed: WatchInput[] = [proceed, page([object('a', '5')], '10')];

test.each<[string, WatchInput[], boolean, WatchEffect[]]>([
  [
    'starts with a page from storage',
    [proceed],
    false,
    [{ do: 'list', resourceVersion: '', limit: 500, next: undefined }],
  ],
  [
    'starts with a streaming list if that is enabled',
    [proceed],
    true,
    [{ do: 'watch', resourceVersion: '', initialEvents: true }],
  ],
  [
    'requests the next page',
    [proceed, page([], '10', 'tok')],
    false,
    [{ do: 'list', resourceVersion: '', limit: 500, next: 'tok' }],
  ],
  [
    'replaces the objects after the last page and watches from the version of the list',
    [proceed, page([object('a', '1')], '10', 'tok'), page([object('b', '2')], '10')],
    false,
    [
      { do: 'replace', items: [object('a', '1'), object('b', '2')] },
      { do: 'watch', resourceVersion: '10', initialEvents: false },
    ],
  ],
  [
    'completes a streaming list at the annotated bookmark and stays on the stream',
    [proceed, frame('ADDED', object('a', '1')), bookmark('12', true)],
    true,
    [{ do: 'replace', items: [object('a', '1')] }],
  ],
  [
    'falls back to pages when the server refuses to stream',
    [proceed, failed({ kind: 'rejected' }), proceed],
    true,
    [{ do: 'list', resourceVersion: '', limit: 500, next: undefined }],
  ],
  [
    'falls back to pages when the server ignores the request to stream and sends a plain bookmark',
    [proceed, bookmark('12'), failed({ kind: 'rejected' }), proceed],
    true,
    [{ do: 'list', resourceVersion: '', limit: 500, next: undefined }],
  ],
  [
    'resumes from the last bookmark after a reconnect',
    [...listed, bookmark('44'), { type: 'closed', lastedMs: 300_000, frames: 1, now: 0 }, proceed],
    false,
    [{ do: 'watch', resourceVersion: '44', initialEvents: false }],
  ],
  [
    'resumes from the last event after a lost connection',
    [...listed, frame('MODIFIED', object('a', '45')), failed(), proceed],
    false,
    [{ do: 'watch', resourceVersion: '45', initialEvents: false }],
  ],
  [
    'lists from storage after an expired version',
    [...listed, failed({ kind: 'expired' }), proceed],
    false,
    [{ do: 'list', resourceVersion: '', limit: 500, next: undefined }],
  ],
  [
    'lists from storage when the server lags behind our version',
    [...listed, failed({ kind: 'too-large-rv' }), proceed],
    false,
    [{ do: 'list', resourceVersion: '', limit: 500, next: undefined }],
  ],
  [
    'continues without a wait after a first expiry',
    [...listed, failed({ kind: 'expired' })],
    false,
    [{ do: 'wait', failures: 0, atLeastMs: 0 }],
  ],
  [
    'clears the cache while an optional kind is absent, and retries in 15 seconds',
    [...listed, failed({ kind: 'absent' })],
    false,
    [{ do: 'clear' }, { do: 'wait', failures: 0, atLeastMs: 15_000 }],
  ],
  [
    'lists an absent kind again after the wait',
    [...listed, failed({ kind: 'absent' }), proceed],
    false,
    [{ do: 'list', resourceVersion: '', limit: 500, next: undefined }],
  ],
  [
    'waits at least as long as the server requests',
    [...listed, failed({ retryAfterMs: 9_000 })],
    false,
    [{ do: 'wait', failures: 1, atLeastMs: 9_000 }],
  ],
  [
    'counts a stream that ends immediately without a frame as a failure',
    [...listed, { type: 'closed', lastedMs: 10, frames: 0, now: 0 }],
    false,
    [{ do: 'wait', failures: 1, atLeastMs: 0 }],
  ],
  [
    'emits an upsert for an ADDED frame',
    [...listed, frame('ADDED', object('b', '11'))],
    false,
    [{ do: 'upsert', object: object('b', '11') }],
  ],
  [
    'emits a removal for a DELETED frame',
    [...listed, frame('DELETED', object('a', '11'))],
    false,
    [{ do: 'remove', object: object('a', '11') }],
  ],
])('%s', (_what, inputs, streaming, effects) => {
  expect(run(inputs, streaming).effects).toEqual(effects);
});

test.each<[string, unknown, string]>([
  ['410 in an ERROR frame', { kind: 'Status', code: 410, reason: 'Expired' }, 'expired'],
  ['500 in an ERROR frame', { kind: 'Status', code: 500, message: 'boom' }, 'other'],
  ['429 in an ERROR frame', { kind: 'Status', code: 429, reason: 'TooManyRequests' }, 'unavailable'],
  ['a lag in an ERROR frame', { kind: 'Status', code: 504, message: 'Too large resource version' }, 'too-large-rv'],
  ['an empty ERROR frame', null, 'other'],
])('%s abandons the stream and is not an event', (_what, status, kindOfFailure) => {
  const { effects } = run([...listed, frame('ERROR', status)]);
  expect(effects).toMatchObject([{ do: 'abandon', kind: kindOfFailure }]);
});

test.each<[string, WatchInput]>([
  ['another kind', frame('ADDED', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', resourceVersion: '9' } })],
  ['no version', frame('ADDED', { ...kind, metadata: { name: 'a' } })],
  ['no name', frame('ADDED', { ...kind, metadata: { resourceVersion: '9' } })],
  ['an unknown type', frame('CHANGED', object('a', '9'))],
])('a frame with %s abandons the stream, and the last version is kept', (_what, input) => {
  const { state, effects } = run([...listed, input]);
  expect(effects).toMatchObject([{ do: 'abandon', kind: 'other' }]);
  expect(state).toMatchObject({ phase: 'watching', rv: '10' });
});

const streams: WatchEffect = { do: 'watch', resourceVersion: '', initialEvents: true };
const lists: WatchEffect = { do: 'list', resourceVersion: '', limit: 500, next: undefined };
const busy = failed({ kind: 'unavailable' });

test.each<[string, WatchInput[], WatchEffect]>([
  ['streamed again after one failure', [failed()], streams],
  ['a list after two failures', [failed(), proceed, failed()], lists],
  [
    'a list after two streams that ended before their initial events had',
    [
      { type: 'closed', lastedMs: 2_000, frames: 5, now: 0 },
      proceed,
      { type: 'closed', lastedMs: 2_000, frames: 5, now: 0 },
    ],
    lists,
  ],
  ['a list after one stream that fell silent', [frame('ADDED', object('a', '1')), failed({ kind: 'silent' })], lists],
  ['a list if the server lags behind', [failed({ kind: 'too-large-rv' })], lists],
  [
    'a list if the server says in the stream that it lags behind',
    [frame('ERROR', { code: 504, message: 'Too large resource version: 9' }), failed({ kind: 'too-large-rv' })],
    lists,
  ],
  ['streamed while the server refuses connections or has too many requests', [busy, proceed, busy], streams],
  [
    'a list again after a list that failed as well',
    [failed({ kind: 'silent' }), proceed, failed(), proceed, busy],
    lists,
  ],
  [
    'streamed the next time that everything is read',
    [failed({ kind: 'silent' }), proceed, page([], '10'), failed({ kind: 'expired' })],
    streams,
  ],
])('an initial list that is streamed is %s', (_what, inputs, effect) => {
  expect(run([proceed, ...inputs, proceed], true).effects).toEqual([effect]);
});

test('failures are counted, and the count restarts after two minutes without a failure', () => {
  const many = run([...listed, failed(), failed({ now: 1_000 }), failed({ now: 2_000 })]);
  expect(many.effects).toMatchObject([{ failures: 3 }]);
  const failuresAt = (now: number) => stepWatch(many.state, failed({ now }), watched).effects;
  expect(failuresAt(122_000)).toMatchObject([{ failures: 4 }]);
  expect(failuresAt(122_001)).toMatchObject([{ failures: 1 }]);
});

test.each<[string, number, WatchEffect]>([
  [
    'its time, without a sign of its end, is replaced by a plain list',
    300_000,
    { do: 'list', resourceVersion: '', limit: 500, next: undefined },
  ],
  ['a short time is asked for once more', 5_000, { do: 'watch', resourceVersion: '', initialEvents: true }],
])('a streamed list that the server closes after %s', (_what, lastedMs, effect) => {
  const closed: WatchInput = { type: 'closed', lastedMs, frames: 1, now: lastedMs };
  expect(run([proceed, frame('ADDED', object('a', '1')), closed, proceed], true).effects).toEqual([effect]);
});

test('an interrupted list starts over', () => {
  const { effects } = run([proceed, page([object('a', '1')], '10', 'tok'), failed(), proceed]);
  expect(effects).toEqual([{ do: 'list', resourceVersion: '', limit: 500, next: undefined }]);
});

test.each<[string, WatchInput[], WatchEffect]>([
  ['begins in the cache of the server', [proceed], { do: 'list', resourceVersion: '0', limit: 500, next: undefined }],
  [
    'is read from storage after an expired version',
    [...listed, failed({ kind: 'expired' }), proceed],
    { do: 'list', resourceVersion: '', limit: 500, next: undefined },
  ],
  [
    'is read in pages from storage after an answer that was too large',
    [proceed, failed({ kind: 'too-large' }), proceed],
    { do: 'list', resourceVersion: '', limit: 500, next: undefined },
  ],
])('a list with a selector %s', (_what, inputs, effect) => {
  expect(run(inputs, false, true).effects).toEqual([effect]);
});

test('pages that are too large become smaller, down to one object, with a back-off', () => {
  const inputs: WatchInput[] = [proceed];
  const limits: unknown[] = [];
  for (let i = 0; i < 6; i++) {
    const tooLarge = failed({ kind: 'too-large' });
    expect(run([...inputs, tooLarge]).effects).toEqual([{ do: 'wait', failures: i + 1, atLeastMs: 0 }]);
    inputs.push(tooLarge, proceed);
    limits.push(...run(inputs).effects.map((effect) => effect.do === 'list' && effect.limit));
  }
  expect(limits).toEqual([125, 31, 7, 1, 1, 1]);
  const last = run([...inputs, page([object('a', '1')], '10', 'tok')]);
  expect(last.effects).toEqual([{ do: 'list', resourceVersion: '', limit: 1, next: 'tok' }]);
});

test.each<[string, WatchInput[], boolean]>([
  ['the pages of a list', [proceed, page([object('a', '1')], '10', 'tok'), page([object('b', '2')], '10')], false],
  [
    'a streamed list',
    [proceed, frame('ADDED', object('a', '1')), frame('ADDED', object('b', '2')), bookmark('12', true)],
    true,
  ],
])('objects are reduced as they arrive, before %s is complete', (_what, inputs, streamingList) => {
  const kept: unknown[] = [];
  const keep = ({ metadata: { name = '', resourceVersion = '' } }: KubeObject): KubeObject => {
    kept.push(name);
    return object(`${name}, reduced`, resourceVersion);
  };
  let state = initialWatchState({ streamingList, selective: false, pageSize: 1 });
  let effects: readonly WatchEffect[] = [];
  const keptAfter = inputs.map((input) => {
    ({ state, effects } = stepWatch(state, input, { ...kind, keep }));
    return kept.length;
  });
  expect(keptAfter).toEqual(streamingList ? [0, 1, 2, 2] : [0, 1, 2]);
  expect(effects[0]).toEqual({ do: 'replace', items: [object('a, reduced', '1'), object('b, reduced', '2')] });
});
