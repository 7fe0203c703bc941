import type { KubeObject } from '../api/meta.ts';
import { overlayMs, Store } from './store.ts';

const object = (resourceVersion: string, text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion },
  data: { text },
});
const textOf = (found: KubeObject | undefined): unknown => (found?.['data'] as { text: string } | undefined)?.text;

function filled(): { store: Store; move: (ms: number) => void } {
  let now = 0;
  const store = new Store(
    () => {},
    () => now,
  );
  store.replace([object('1', 'old')]);
  return { store, move: (ms) => void (now += ms) };
}

test('what was written is shown at once, until its echo comes', () => {
  const { store } = filled();
  store.wrote(object('2', 'written'));
  expect(textOf(store.get('ns/a'))).toBe('written');
  store.upsert(object('2', 'written'));
  store.upsert(object('3', 'later'));
  expect(textOf(store.get('ns/a'))).toBe('later');
});

test('an answer that comes after its echo does not hide a newer edit', () => {
  const { store } = filled();
  store.upsert(object('2', 'written'));
  store.upsert(object('3', 'edited by a user'));
  store.wrote(object('2', 'written'));
  expect(textOf(store.get('ns/a'))).toBe('edited by a user');
});

test('a write whose echo never comes is believed for a while only', () => {
  const { store, move } = filled();
  store.wrote(object('2', 'written'));
  move(overlayMs);
  expect(textOf(store.get('ns/a'))).toBe('old');
});

test('what was written while no watch was there, and is in no list after it, is told as deleted', () => {
  const told: string[] = [];
  let now = 0;
  const store = new Store(
    ({ type, object: { metadata } }) => void told.push(`${type} ${metadata.name}`),
    () => now,
  );
  store.replace([]);
  store.wrote(object('2', 'written'));
  now += overlayMs;
  expect(store.get('ns/a')).toBeUndefined();
  expect(store.replace([])).toBe(0);
  store.replace([]);
  expect(told).toEqual(['deleted a']);
});
