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

test('a list of more than 16 KiB is not kept, and one of 16 KiB is', () => {
  const cache = new AttributeCache();
  const bytes = Buffer.alloc(16 * 1024 + 1, 7);
  cache.add(bytes, 0, bytes.length, list('long'));
  expect(cache.find(bytes, 0, bytes.length)).toBeUndefined();
  const kept = get(cache, bytes, 1, bytes.length, () => list('kept'));
  expect(get(cache, bytes, 1, bytes.length, never)).toBe(kept);
});

const empty = { key: '', value: null };
test.each<[string, number, Attribute[]]>([
  ['long encodings', 10_000, [empty]],
  ['many attributes', 400, Array.from({ length: 300 }, () => empty)],
  ['many nested values', 400, [{ key: 'k', value: [{ entries: Array.from({ length: 300 }, () => empty) }] }]],
  ['many values of an array', 400, [{ key: 'k', value: Array.from({ length: 300 }, () => null) }]],
])('lists with %s are dropped when they take more memory than two generations may', (_what, length, attributes) => {
  const cache = new AttributeCache(1_000, 100_000);
  const at = (n: number): Buffer => Buffer.alloc(length, n);
  for (let n = 0; n < 30; n++) cache.add(at(n), 0, length, attributes);
  const kept = Array.from({ length: 30 }, (_, n) => n).filter((n) => cache.find(at(n), 0, length));
  expect(kept).toContain(29);
  expect(kept.length).toBeLessThan(20);
});
