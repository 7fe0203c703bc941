import type { Attribute } from '../model.ts';
import { AttributeCache } from './attribute-cache.ts';

const list = (key: string): Attribute[] => [{ key, value: '' }];
const never = (): never => {
  throw new Error('decoded again');
};

test('equal bytes give the same list, wherever they stand', () => {
  const cache = new AttributeCache();
  const first = cache.get(Uint8Array.of(1, 2, 3), 0, 3, () => list('a'));
  expect(cache.get(Uint8Array.of(9, 1, 2, 3, 9), 1, 4, never)).toBe(first);
  expect(cache.get(Uint8Array.of(1, 2, 4), 0, 3, () => list('b'))).not.toBe(first);
});

test('the cache keeps its own copy of the bytes', () => {
  const cache = new AttributeCache();
  const bytes = Uint8Array.of(1, 2, 3);
  const first = cache.get(bytes, 0, 3, () => list('a'));
  bytes[0] = 7;
  expect(cache.get(Uint8Array.of(1, 2, 3), 0, 3, never)).toBe(first);
});

test('lists in use live on, those that nobody asked for through a generation go', () => {
  const cache = new AttributeCache(4);
  const at = (n: number): Uint8Array => Uint8Array.of(n);
  const kept = cache.get(at(0), 0, 1, () => list('kept'));
  const gone = cache.get(at(1), 0, 1, () => list('gone'));
  for (let n = 2; n < 12; n++) {
    cache.get(at(n), 0, 1, () => list(String(n)));
    expect(cache.get(at(0), 0, 1, never)).toBe(kept);
  }
  expect(cache.get(at(1), 0, 1, () => list('new'))).not.toBe(gone);
});
