import { SeenItems } from './seen-items.ts';
import type { StreamMessage } from './stream-message.ts';

const time = '2026-11-22T05:40:29.123456789Z';
const span = (spanId: string, kind = 'server', start = time): StreamMessage => {
  const rest = { traceId: 't', name: 'GET /', start, durationNs: 1, status: 'unset', attributes: {} } as const;
  return { node: 'node-1', time: start, span: { ...rest, spanId, kind } };
};

test('an item is new only the first time, and the two sides of one request are two items', () => {
  const seen = new SeenItems();
  expect([seen.add(span('a')), seen.add(span('a')), seen.add(span('a', 'client'))]).toEqual([true, false, true]);
});

test('at least the newest ten thousand items are remembered, and the oldest are forgotten', () => {
  const seen = new SeenItems();
  for (let i = 0; i < 35_000; i++) seen.add(span(`${i}`));
  expect(seen.add(span('25000'))).toBe(false);
  expect(seen.add(span('34999'))).toBe(false);
  expect(seen.add(span('0'))).toBe(true);
});

test('a resumed read begins ten seconds before the newest item, and never in the future', () => {
  const seen = new SeenItems();
  expect(seen.since(0)).toBeUndefined();
  seen.add(span('a'));
  expect(seen.since(Date.parse(time) + 60_000)).toBe('2026-11-22T05:40:19.123Z');
  expect(seen.since(Date.parse(time) - 60_000)).toBe('2026-11-22T05:39:19.123Z');
});

test('an item with a time that does not exist, or before 1970, does not stop a resumed read', () => {
  const seen = new SeenItems();
  expect(seen.add(span('a', 'server', '2026-13-01T00:00:00.000000000Z'))).toBe(true);
  expect(seen.since(0)).toBeUndefined();
  seen.add(span('b', 'server', '0000-01-01T00:00:00.000000000Z'));
  expect(seen.since(Date.parse(time))).toBe('1970-01-01T00:00:00.000Z');
  seen.add(span('c'));
  seen.add(span('d', 'server', '2026-13-01T00:00:00.000000000Z'));
  expect(seen.since(Date.parse(time))).toBe('2026-11-22T05:40:19.123Z');
});
