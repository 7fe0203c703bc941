import type { AnyValue, Attribute } from '../otlp/model.ts';
import { StreamShares, streamWeight } from './stream-shares.ts';

const bounds = { node: 10, namespace: 8, own: 3 };

function filled(...namespaces: readonly string[]): StreamShares {
  const shares = new StreamShares();
  for (const namespace of namespaces) shares.add(namespace, 1);
  return shares;
}
const times = (n: number, namespace: string): string[] => Array.from({ length: n }, () => namespace);

test('a namespace at its limit gets no more streams; other namespaces do', () => {
  const shares = filled(...times(8, 'noisy'));
  expect([shares.exceeded('noisy', 1, bounds), shares.exceeded('quiet', 1, bounds)]).toEqual(['namespace', null]);
});

test('on a full node a namespace with few streams still gets more, up to its own share', () => {
  const shares = filled(...times(5, 'a'), ...times(5, 'b'), ...times(2, 'quiet'));
  expect([shares.exceeded('a', 1, bounds), shares.exceeded('quiet', 1, bounds)]).toEqual(['node', null]);
  shares.add('quiet', 1);
  expect(shares.exceeded('quiet', 1, bounds)).toBe('node');
});

test('unknown senders are counted together and have no share of their own', () => {
  expect(filled(...times(8, '')).exceeded('', 1, bounds)).toBe('namespace');
  expect(filled(...times(5, 'a'), ...times(5, 'b')).exceeded('', 1, bounds)).toBe('node');
});

test('a removed stream leaves room for another', () => {
  const shares = filled(...times(8, 'noisy'));
  shares.remove('noisy', 1);
  expect(shares.exceeded('noisy', 1, bounds)).toBeNull();
});

test('a stream with long attributes counts for several: for all that it keeps in memory', () => {
  const list = (length: number): Attribute[] => [{ key: 'x', value: 'a'.repeat(length) }];
  expect([streamWeight(list(2_500), list(2_500)), streamWeight(list(100_000), [])]).toEqual([1, 93]);
  const shares = new StreamShares();
  shares.add('a', 6);
  expect([2, 3].map((weight) => shares.exceeded('a', weight, bounds))).toEqual([null, 'namespace']);
  expect([4, 5].map((weight) => shares.exceeded('', weight, bounds))).toEqual([null, 'node']);
  expect(shares.exceeded('quiet', 3, { ...bounds, node: 6 })).toBeNull();
});

/** A stream's attribute, with what it takes in memory together with the text that is made of it. Units: bytes. */
const kept: [what: string, value: AnyValue, bytes: number][] = [
  ['texts of 5 KiB', 'a'.repeat(5 * 1024), 5 * 1024],
  ['texts of 15 KiB', 'a'.repeat(15 * 1024), 15 * 1024],
  ['texts of a MiB', 'a'.repeat(1024 * 1024), 1024 * 1024],
  ['texts beyond Latin-1', 'ж'.repeat(5 * 1024), 10 * 1024],
  ['lists of texts', ['a'.repeat(5 * 1024)], 10 * 1024],
  ['lists of texts beyond Latin-1', ['ж'.repeat(3 * 1024)], 12 * 1024],
  ['bytes', new Uint8Array(5 * 1024), 11 * 1024],
];
test.each(kept)(
  'a node full of streams with %s keeps at most 7 KiB for each that it may have',
  (_what, value, bytes) => {
    const shares = new StreamShares();
    const wide = { node: 4_000, namespace: 4_000, own: 0 };
    const weight = streamWeight([], [{ key: 'x', value }]);
    let count = 0;
    for (; shares.exceeded('a', weight, wide) === null; count++) shares.add('a', weight);
    expect(count).toBeGreaterThan(1);
    expect((count * bytes) / wide.node).toBeLessThan(7 * 1024);
  },
);
