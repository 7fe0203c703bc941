import type { KubeObject } from '../../api/meta.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { overlayMs, Store } from './store.ts';

const object = (resourceVersion: string, text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion },
  data: { text },
});
const textOf = (found: KubeObject | undefined): unknown => (found?.['data'] as { text: string } | undefined)?.text;

let clock: FakeClock;
let told: string[];

function empty(): Store {
  clock = new FakeClock();
  told = [];
  return new Store(({ type, object, old }) => {
    const was = old ? ` from ${String(textOf(old))}` : '';
    told.push(`${type} ${String(textOf(object))}${was}`);
  }, clock);
}

function filled(): Store {
  const store = empty();
  store.replace([object('1', 'old')]);
  told.length = 0;
  return store;
}

test('an own write is shown immediately, until its watch event comes', () => {
  const store = filled();
  store.wrote(object('2', 'written'));
  expect(textOf(store.get('ns/a'))).toBe('written');
  store.upsert(object('2', 'written'));
  store.upsert(object('3', 'later'));
  expect(textOf(store.get('ns/a'))).toBe('later');
});

test('a write whose answer comes after its watch event does not hide a newer edit', () => {
  const store = filled();
  store.upsert(object('2', 'written'));
  store.upsert(object('3', 'edited by a user'));
  store.wrote(object('2', 'written'));
  expect(textOf(store.get('ns/a'))).toBe('edited by a user');
});

test('a write without a watch event is shown for ten seconds only, and its withdrawal is reported once', async () => {
  const store = filled();
  store.wrote(object('2', 'written'));
  await clock.advance(overlayMs);
  expect(textOf(store.get('ns/a'))).toBe('old');
  expect(told).toEqual(['updated old from written']);
  // The server answers with the same version again: only the watch is late.
  store.wrote(object('2', 'written'));
  await clock.advance(2 * overlayMs);
  store.upsert(object('2', 'written'));
  expect(told).toEqual(['updated old from written', 'updated written from old']);
  expect(clock.pending).toBe(0);
});

test('each write without a watch event is withdrawn when its own time is over', async () => {
  const store = empty();
  store.replace([]);
  store.wrote(object('2', 'a'));
  await clock.advance(overlayMs / 2);
  const b = object('3', 'b');
  store.wrote({ ...b, metadata: { ...b.metadata, name: 'b' } });
  await clock.advance(overlayMs / 2);
  expect(told).toEqual(['deleted a from a']);
  await clock.advance(overlayMs / 2);
  expect(told).toEqual(['deleted a from a', 'deleted b from b']);
});

test('after a watch event that comes in time nothing else is reported; a closed store keeps no timer', async () => {
  const store = filled();
  store.wrote(object('2', 'written'));
  store.upsert(object('2', 'written'));
  await clock.advance(overlayMs);
  expect(told).toEqual(['updated written from old']);
  store.wrote(object('3', 'again'));
  store.close();
  store.wrote(object('4', 'again'));
  expect(clock.pending).toBe(0);
});

test('a write whose answer comes after the deletion of the object does not bring the object back', () => {
  const store = filled();
  store.remove(object('2', 'old'));
  store.wrote(object('1', 'old'));
  expect(store.get('ns/a')).toBeUndefined();
});

test('an own write that is missing in a later list is reported as deleted', async () => {
  const store = empty();
  store.replace([]);
  store.wrote(object('2', 'written'));
  expect(store.replace([])).toBe(0);
  expect(store.get('ns/a')).toBeUndefined();
  store.replace([]);
  await clock.advance(overlayMs);
  expect(told).toEqual(['deleted written from written']);
});

test('an object that a list no longer has is reported with the state that we wrote last', () => {
  const store = filled();
  store.wrote(object('2', 'written'));
  store.replace([]);
  expect(told).toEqual(['deleted written from old']);
});

test('if a list lacks an object and our own write of its namesake, both are reported as deleted', () => {
  const store = filled();
  const namesake = object('2', 'namesake');
  store.wrote({ ...namesake, metadata: { ...namesake.metadata, uid: 'another' } });
  store.replace([]);
  expect(told).toEqual(['deleted old from old', 'deleted namesake from namesake']);
});
