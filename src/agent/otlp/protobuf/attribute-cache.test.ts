import type { Attribute } from '../model.ts';
import { AttributeCache } from './attribute-cache.ts';

/** Looks a list up as the decoder does. A miss is decoded and added. */
function get(
  cache: AttributeCache,
  bytes: Uint8Array,
  start: number,
  end: number,
  decode: () => Attribute[],
): readonly Attribute[] {
  const known = cache.find(bytes, start, end);
  if (known) return known;
  const made = decode();
  cache.add(bytes, start, end, made);
  return made;
}

const list = (key: string): Attribute[] => [{ key, value: '' }];
const never = (): never => {
  throw new Error('decoded again');
};

test('equal bytes give the same list, at any offset', () => {
  const cache = new AttributeCache();
  const first = get(cache, Uint8Array.of(1, 2, 3), 0, 3, () => list('a'));
  expect(get(cache, Uint8Array.of(9, 1, 2, 3, 9), 1, 4, never)).toBe(first);
  expect(get(cache, Uint8Array.of(1, 2, 4), 0, 3, () => list('b'))).not.toBe(first);
});

test.each([
  ['bytes', Uint8Array.of(1, 2, 3)],
  ['a Buffer, whose slice is not a copy', Buffer.from(Uint8Array.of(1, 2, 3))],
])('the cache keeps its own copy of %s', (_kind, bytes) => {
  const cache = new AttributeCache();
  const first = get(cache, bytes, 0, 3, () => list('a'));
  bytes[0] = 7;
  expect(get(cache, Uint8Array.of(1, 2, 3), 0, 3, never)).toBe(first);
});

test('a list that is used stays cached, and one that is unused while others fill the cache is dropped', () => {
  const cache = new AttributeCache(4);
  const at = (n: number): Uint8Array => Uint8Array.of(n);
  const kept = get(cache, at(0), 0, 1, () => list('kept'));
  const gone = get(cache, at(1), 0, 1, () => list('gone'));
  for (let n = 2; n < 12; n++) {
    get(cache, at(n), 0, 1, () => list(String(n)));
    expect(get(cache, at(0), 0, 1, never)).toBe(kept);
  }
  expect(get(cache, at(1), 0, 1, () => list('new'))).not.toBe(gone);
});
